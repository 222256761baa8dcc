#!/bin/sh
# The quick tests, all of them; other tests if options say so. Every commit of a ledger waits for the disk, tens of thousands of times in all: where
# memory has room to spare, the tests' folders are there. A process that is killed loses no more there than on a disk.
set -e
on_shm() { df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { gigabytes = int($4 / 1048576) } END { print gigabytes + 0 }'; }
in_memory() { awk '/^MemAvailable/ { gigabytes = int($2 / 1048576) } END { print gigabytes + 0 }' /proc/meminfo; }
if [ "$(on_shm)" -ge 8 ] && [ "$(in_memory)" -ge 12 ]; then
  folder=$(mktemp -d /dev/shm/fullbench-tests-XXXXXX)
  trap 'rm -rf "$folder"' EXIT
  trap 'exit 130' INT TERM
  chmod 755 "$folder" # PostgreSQL refuses to run as root, and whoever runs it has to come in
  export TMPDIR="$folder"
fi
# As the command line has it: threads of a small matrix wait for each other, up to twenty times as long as one takes.
export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}"
# Three workers on two cores, since many tests wait for a server, a browser or a clock.
python -m pytest -p tests.support.parallel --workers 3 -m "not slow" tests src "$@"
