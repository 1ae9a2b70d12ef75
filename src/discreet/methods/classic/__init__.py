"""Classic suppression: small counts hidden, and further cells so that totals do not give them away."""
