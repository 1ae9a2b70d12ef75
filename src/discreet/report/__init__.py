"""Reports: HTML pages with pictures, without scripts, the same in light, dark and on paper."""
