# SPDX-License-Identifier: Apache-2.0
"""Two hosts, each with a service and two trainers that attach to it, for the tests beside this file."""
from program import Base, start

OPTIONS = ["--epochs", 3, "--batch", 32, "--hidden", 32, "--learning-rate", 0.02, "--deadline", 5]
HOSTS, EACH = 2, 2
DEADLINE = 120  # of a whole run in these tests, far above what one takes


class ServedHosts(Base):
    def sockets(self):
        return [self.work / f"host{host}.sock" for host in range(HOSTS)]

    def start_services(self, network, port, words):
        return [start("serve", self.parts, "--socket", socket, "--json", "--host", f"host{host}", *words, prefix=network.prefix(host),
                      environment={**network.environment(host), "RANK": str(host), "WORLD_SIZE": str(HOSTS), "MASTER_PORT": str(port)})
                for host, socket in enumerate(self.sockets())]

    def start_trainers(self, network, port, words, ranks=None):
        return [start("train", self.parts, *OPTIONS, "--attach", self.sockets()[rank // EACH], "--json", "--host",
                      f"host{rank // EACH}", *words, prefix=network.prefix(rank // EACH),
                      environment={**network.environment(rank // EACH), "RANK": str(rank), "WORLD_SIZE": str(HOSTS * EACH),
                                   "MASTER_PORT": str(port)})
                for rank in (range(HOSTS * EACH) if ranks is None else ranks)]

    def end(self, processes, code=0):
        """Output and errors of each, all of which must exit with `code`."""
        results = []
        try:
            for process in processes:
                results.append(process.communicate(timeout=DEADLINE))
        finally:
            for process in processes:
                process.kill()
        for process, (out, err) in zip(processes, results):
            self.assertEqual(process.returncode, code, f"{process.args}\n{out}\n{err}")
        return results
