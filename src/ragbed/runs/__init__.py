"""Execute runs: call models once per case, store every response, and resume interrupted runs."""
