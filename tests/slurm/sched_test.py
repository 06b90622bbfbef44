#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`rudder sched run` on a real Slurm. Runs inside script/slurm-cluster (see script/slurm-test): eight nodes whose names
interleave over two leaves."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

RUDDER = os.environ["RUDDER"]
LEAF = {name: leaf for leaf, names in {"a": "gpu-a01 gpu-a03 gpu-b01 gpu-b03", "b": "gpu-a02 gpu-a04 gpu-b02 gpu-b04"}.items()
        for name in names.split()}
DEADLINE = 60

# Prints every rank's node, says when it is told to end, and works for a number of seconds or for ever.
GANG = """#!/bin/bash
term() { echo term >> $HOSTS/$SLURM_JOB_ID.term; exit 1; }
trap term TERM
export SLURM_HOSTFILE=$HOSTS/$SLURM_JOB_ID.hosts
srun -n $SLURM_JOB_NUM_NODES -m arbitrary bash -c 'echo $SLURM_PROCID $SLURMD_NODENAME' > $HOSTS/$SLURM_JOB_ID.out 2>&1
mv $HOSTS/$SLURM_JOB_ID.out $HOSTS/$SLURM_JOB_ID.ranks
sleep $1 &
wait $!
"""

# Stands before the real command in PATH and kills the planner before or after the COUNT-th command that changes something.
KILLER = """#!/bin/bash
if [ "$1" = show ]; then exec REAL "$@"; fi
left=$(($(cat FOLDER/count) - 1))
echo $left > FOLDER/count
if [ $left = 0 ] && [ "$(cat FOLDER/mode)" = before ]; then kill -KILL $PPID; exit 1; fi
REAL "$@"
code=$?
if [ $left = 0 ]; then kill -KILL $PPID; fi
exit $code
"""


def run(*words, check=True, env=None):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, timeout=60, check=False, env=env)
    if check and done.returncode != 0:
        raise AssertionError(f"{words} exited with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def hosts_of(text):
    return run("scontrol", "show", "hostnames", text).split() if text else []


def jobs():
    return {job["job_id"]: job for job in json.loads(run("squeue", "--json", "--states=all"))["jobs"]}


def reservations():
    text = run("env", "SLURM_TIME_FORMAT=%s", "scontrol", "show", "reservation", "-o")
    records = [dict(word.split("=", 1) for word in line.split() if "=" in word) for line in text.splitlines()]
    return {record["ReservationName"]: record for record in records if "ReservationName" in record}


def wait_for(what, condition, seconds=DEADLINE):
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s\n" + run("squeue", "-o", "%i %T %r %N %k") +
                                 run("scontrol", "show", "reservation", "-o"))
        time.sleep(0.1)


class SchedRun(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="sched-test."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.addCleanup(self.empty_cluster)
        self.script = self.folder / "gang.sh"
        self.script.write_text(GANG)

    def empty_cluster(self):
        run("scancel", "--full", "--signal=KILL", "-u", "root", check=False)
        run("scancel", "-u", "root", check=False)
        wait_for("no jobs", lambda: not run("squeue", "-h"))
        for name in reservations():
            run("scontrol", "delete", f"ReservationName={name}")
        run("scontrol", "update", f"NodeName={','.join(LEAF)}", "State=RESUME", check=False)
        wait_for("all nodes idle", lambda: set(run("sinfo", "-h", "-N", "-o", "%T").split()) == {"idle"})

    def submit(self, nodes, comment, seconds="infinity", minutes=10):
        out = run("sbatch", "--hold", "--parsable", "--requeue", "-N", nodes, "-t", minutes, "-o", "/dev/null",
                  "--comment", f"rudder: {comment}", f"--export=ALL,HOSTS={self.folder}", self.script, seconds)
        return int(out)

    def words(self, *options):
        return [RUDDER, "sched", "run", "--host-files", str(self.folder), "--json", *map(str, options)]

    def once(self, *options):
        return json.loads(run(*self.words("--once", *options)))

    def start_planner(self, *options):
        with (self.folder / "planner.log").open("wb") as log:
            planner = subprocess.Popen(self.words("--interval", "0.2", *options), stdout=log, stderr=log)

        def stop():
            planner.kill()
            planner.wait()
        self.addCleanup(stop)

    def state(self, job):
        return jobs()[job]["job_state"]

    def ranks(self, job):
        """Node of each rank, as the job's own tasks said."""
        path = self.folder / f"{job}.ranks"
        wait_for(f"ranks of job {job}", path.exists)
        pairs = dict(line.split() for line in path.read_text().splitlines())
        return [pairs[str(rank)] for rank in range(len(pairs))]

    def placed(self, job):
        return hosts_of(jobs()[job]["required_nodes"])

    def test_ranks_are_where_they_were_planned(self):
        job = self.submit(8, "shape=4x2 alpha=0.3")
        result = self.once()
        self.assertEqual([action["kind"] for action in result["actions"]], ["start"])
        self.assertEqual(result["failures"], 0)
        ranks = self.ranks(job)
        self.assertEqual(ranks, self.placed(job))
        self.assertEqual(sorted(ranks), sorted(LEAF))
        self.assertNotEqual(ranks, sorted(ranks))
        # alpha .3 wants pipelines together: ranks r and r + 4 are the stages of pipeline r.
        self.assertEqual([LEAF[ranks[r]] for r in range(4)], [LEAF[ranks[r + 4]] for r in range(4)])
        self.assertIn("J=1.3 bound=1.3", jobs()[job]["admin_comment"])
        # Where it stands: nothing is left to do.
        self.assertEqual(self.once()["actions"], [])

    def test_dry_run_changes_nothing(self):
        job = self.submit(2, "")
        actions = json.loads(run(*self.words("--dry-run")))["actions"]
        self.assertIn(f"scontrol release {job}", actions[0]["commands"])
        self.assertEqual((self.state(job), jobs()[job]["required_nodes"]), ("PENDING", ""))

    def test_a_command_that_hangs_or_talks_nonsense_is_named(self):
        tools = self.folder / "bin"
        tools.mkdir()
        env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        for body, expected in (("sleep 60", "'squeue --json --states=all' did not end within 0.5 s"),
                               ("echo '{\"jobs\": 7}'", 'squeue --json: no array "jobs"'),
                               ("echo no controller >&2; exit 3", "squeue exited with code 3; no controller")):
            (tools / "squeue").write_text(f"#!/bin/bash\n{body}\n")
            (tools / "squeue").chmod(0o755)
            done = subprocess.run(self.words("--once", "--deadline", "0.5"), capture_output=True, text=True, env=env,
                                  timeout=30, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(expected, done.stderr)

    def test_wrong_comments_are_rejected_with_a_reason(self):
        job = self.submit(4, "shap=2x2")
        self.once()
        self.assertIn("rejected unknown word 'shap'; did you mean 'shape'?", jobs()[job]["admin_comment"])
        self.assertEqual(self.once()["actions"], [])
        self.assertEqual(self.state(job), "PENDING")

    def test_a_zone_is_used_before_and_free_at_its_time(self):
        self.start_planner()
        arrival = int(time.time()) + 20
        large = self.submit(4, f"shape=2x2 planned={arrival}")
        zone = wait_for("a reservation", lambda: reservations().get(f"rudder-{large}"))
        hosts = hosts_of(zone["Nodes"])
        self.assertEqual(int(zone["StartTime"]), arrival)
        self.assertEqual(len({LEAF[host] for host in hosts}), 1)
        other = self.submit(4, "shape=2x2")
        wait_for("the other leaf in use", lambda: self.state(other) == "RUNNING")
        long = self.submit(2, "")
        shorts = [self.submit(2, "estimate=4s", seconds="1") for _ in range(4)]
        wait_for("the short jobs' end", lambda: all(self.state(job) == "COMPLETED" for job in shorts))
        self.assertLess(time.time(), arrival)
        for job in shorts:
            self.assertLessEqual(set(self.ranks(job)), set(hosts))
        self.assertEqual(self.state(long), "PENDING")
        status = json.loads(run(RUDDER, "sched", "status", "--json"))
        why, = [entry for entry in status["waiting"] if entry["job"] == long]
        self.assertTrue(any("leaf-a" in line for line in why["domains"]), why)
        self.assertTrue(any("leaf-b" in line for line in why["domains"]), why)
        self.assertTrue(any(f"4 held for job '{jobs()[large]['name']}'" in line for line in why["domains"]), why)
        wait_for("the large job", lambda: self.state(large) == "RUNNING")
        seen = jobs()[large]
        self.assertEqual(sorted(self.ranks(large)), hosts)
        self.assertGreaterEqual(seen["start_time"], arrival)
        self.assertLessEqual(seen["start_time"], arrival + 10)
        self.assertEqual(jobs()[long]["job_state"], "PENDING")
        wait_for("no reservation", lambda: not reservations())

    def test_a_preempted_gang_is_requeued_whole(self):
        self.start_planner("--grace", 2)
        victim = self.submit(8, "shape=4x2 preemptible")
        first = self.ranks(victim)
        (self.folder / f"{victim}.ranks").unlink()
        urgent = self.submit(4, "shape=2x2 priority=10", seconds="3")
        wait_for("the urgent job", lambda: self.state(urgent) == "RUNNING")
        seen = jobs()[victim]
        # It was told, ended by itself, and waits with none of its nodes.
        self.assertEqual((self.folder / f"{victim}.term").read_text(), "term\n")
        self.assertEqual((seen["job_state"], seen["nodes"], seen["priority"]), ("PENDING", "", 0))
        self.assertEqual(len({LEAF[host] for host in self.ranks(urgent)}), 1)
        wait_for("the urgent job's end", lambda: self.state(urgent) == "COMPLETED")
        wait_for("the victim again", lambda: self.state(victim) == "RUNNING")
        self.assertEqual(sorted(self.ranks(victim)), sorted(first))
        self.assertEqual(jobs()[victim]["restart_cnt"], 1)
        wait_for("no reservation", lambda: not reservations())

    def test_a_planner_may_die_anywhere(self):
        tools = self.folder / "bin"
        tools.mkdir()
        for name in ("scontrol", "scancel"):
            (tools / name).write_text(KILLER.replace("REAL", shutil.which(name)).replace("FOLDER", str(tools)))
            (tools / name).chmod(0o755)
        env = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}
        victim = self.submit(8, "shape=4x2 preemptible", seconds="2")
        self.once()
        self.ranks(victim)
        # Gangs whose starts, zone and preemption have to come through; then the victim again.
        planned = self.submit(4, f"shape=2x2 planned={int(time.time()) + 8}", seconds="2")
        urgent = [self.submit(2, "priority=10", seconds="2") for _ in range(4)]
        mine = [victim, planned, *urgent]
        sizes = {job: jobs()[job]["node_count"] for job in mine}
        kills = {"before": 0, "after": 0}
        for attempt in range(400):
            (tools / "count").write_text(str(1 + attempt % 3))
            mode = "before" if attempt // 3 % 2 else "after"
            (tools / "mode").write_text(mode)
            done = subprocess.run(self.words("--once"), capture_output=True, text=True, env=env, timeout=60, check=False)
            self.assertIn(done.returncode, (0, 1, -signal.SIGKILL), done.stderr)
            kills[mode] += done.returncode == -signal.SIGKILL
            seen = jobs()
            for job in mine:
                self.assertIn(seen[job]["job_state"], ("PENDING", "RUNNING", "COMPLETING", "COMPLETED"))
                if seen[job]["job_state"] == "RUNNING":
                    self.assertEqual(len(hosts_of(seen[job]["nodes"])), sizes[job])
            if all(seen[job]["job_state"] == "COMPLETED" for job in mine) and not reservations():
                break
        self.assertEqual({job: self.state(job) for job in mine}, dict.fromkeys(mine, "COMPLETED"))
        self.assertEqual(reservations(), {})
        # How many there are depends on how many cycles the jobs take; both ways must have happened.
        print(f"planners killed: {kills}", end=" ", flush=True)
        self.assertGreater(min(kills.values()), 1, kills)

    def test_a_drained_node_of_a_zone_is_replaced(self):
        job = self.submit(3, f"shape=3x1 planned={int(time.time()) + 600}")
        self.once()
        before = self.placed(job)
        leaf = LEAF[before[0]]
        self.assertEqual({LEAF[host] for host in before}, {leaf})
        spare, = [host for host in LEAF if LEAF[host] == leaf and host not in before]
        for lost, expected in ((before[1], {spare}), (before[2], {host for host in LEAF if LEAF[host] != leaf})):
            was = self.placed(job)
            run("scontrol", "update", f"NodeName={lost}", "State=DRAIN", "Reason=test")
            self.once()
            now = self.placed(job)
            at = was.index(lost)
            self.assertEqual([host for i, host in enumerate(now) if i != at], [host for i, host in enumerate(was) if i != at])
            self.assertIn(now[at], expected)
            self.assertEqual(hosts_of(reservations()[f"rudder-{job}"]["Nodes"]), sorted(now))

    def test_a_failed_node_of_a_gang_is_replaced(self):
        job = self.submit(3, "shape=3x1")
        self.once()
        before = self.ranks(job)
        (self.folder / f"{job}.ranks").unlink()
        spare, = [host for host in LEAF if LEAF[host] == LEAF[before[0]] and host not in before]
        run("scontrol", "update", f"NodeName={before[1]}", "State=DOWN", "Reason=test")
        run("scontrol", "update", f"NodeName={before[1]}", "State=DRAIN", "Reason=test")
        wait_for("Slurm to requeue it", lambda: self.state(job) == "PENDING")
        self.start_planner()
        self.assertEqual(self.ranks(job), [before[0], spare, before[2]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
