"""What a request may take, and what is kept of answers: one place for all bounds of the server."""

from __future__ import annotations

#: Bytes of the body of a request. The longest test of the library has 7 KiB, a compiled module of a small kernel 100.
LONGEST_BODY = 256 << 10
#: Seconds in which a body must have come in.
PATIENCE = 10.0
#: Characters of a cycle, of a model's name, of a relation to show, and of the name of a file.
LONGEST_CYCLE, LONGEST_NAME, LONGEST_RELATION, LONGEST_FILE_NAME = 2000, 200, 200, 100
#: Models of one request, files of one test, relations of one picture.
MOST_MODELS, MOST_FILES, MOST_RELATIONS = 6, 16, 12
#: States and lines of reasons of one answer, executions that are stepped through, what completion offers, findings of one text.
MOST_STATES, MOST_LINES, MOST_EXECUTIONS, MOST_ITEMS, MOST_DIAGNOSTICS = 1000, 400, 200, 60, 100
#: Characters of one picture, and of one report.
LONGEST_PICTURE, LONGEST_REPORT = 2 << 20, 400_000

#: Seconds for one answer, unless `--timeout` says otherwise; for what is asked as one types; and what a worker gets beyond its
#: time to come to an end by itself, before it is killed.
SECONDS, QUICK_SECONDS, SPARE_SECONDS = 10.0, 2.0, 0.5
#: A worker whose answer nobody wants any more is killed after so many seconds: most are done before.
GRACE = 1.0
#: Requests that may wait, of all pages together.
LONGEST_QUEUE = 256
#: Bytes that a worker may take, beyond what it has at its start.
MEMORY = 1 << 30
#: Answers that a worker gives before a fresh one takes its place: caches of the checker grow.
MOST_ANSWERS = 2000
#: A worker that dies within so many seconds of its start, so many times in a row, says that none can be had here.
SOON, MOST_FAILURES = 2.0, 5

#: Answers that are kept, and their bytes together.
MOST_KEPT, KEPT_BYTES = 2000, 64 << 20
#: Results that a worker keeps: a picture is often asked for just after the check.
MOST_RESULTS = 8
