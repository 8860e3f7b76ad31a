"""Sentences: what findings, results and executions are in words. Whoever decides may import this room; `ptxmm.report`, which
writes such sentences into files of a format, stands above both."""
