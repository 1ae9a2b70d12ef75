"""Other people's tools read what discreet writes and answers, without a word."""
