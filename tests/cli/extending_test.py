#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows docs/extending.md: writes the policy of the page into a copy of the two files it names, builds and runs it.

usage: extending_test.py SOURCE_DIR BUILD_DIR
"""
import pathlib
import re
import subprocess
import sys
import tempfile

source, build = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
MAIN = """
#include <cstdio>
#include "rudder/cache/planner.h"
using namespace rudder::cache;
int main() {
  const auto info = find_policy("mine");
  if (!info.ok()) {
    std::puts(info.error().message.c_str());
    return 1;
  }
  PolicyContext context;
  context.capacity = 2;
  Planner planner((*info)->make(context, {}), 2, 1);
  planner.push({1, 2, 3});
  planner.push({1, 2, 4});
  planner.finish();
  while (!planner.done()) {
    static_cast<void>(planner.next());
  }
  std::printf("hits %d fetched %d\\n", static_cast<int>(planner.totals().hits), static_cast<int>(planner.totals().fetched));
}
"""


def main():
    page = (source / "docs/extending.md").read_text()
    code = re.search(r"```cpp\n(.*?)```", page, re.S)[1]
    code = "\n".join(line.removeprefix("   ") for line in code.splitlines())
    named = set(re.findall(r"`(src/cache/[a-z_/]+\.cc)`", page.split("## Add an importer")[0]))
    assert named == {"src/cache/policies/mine.cc", "src/cache/policy_table.cc"}, f"the page names {sorted(named)}"
    table = (source / "src/cache/policy_table.cc").read_text()
    changed = re.sub(r"(POLICY\(none\)\s*\\)", r"\1\n  POLICY(mine) \\", table, count=1)
    assert changed != table, "the list in policy_table.cc has another form than the page says"
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for name, text in (("mine.cc", code), ("policy_table.cc", changed), ("main.cc", MAIN)):
            (work / name).write_text(text)
        libraries = [build / "src/cache/librudder_cache.a", build / "src/core/librudder_core.a"]
        # The changed table comes before the library, whose own is then not taken.
        sources = [work / name for name in ("main.cc", "policy_table.cc", "mine.cc")]
        system = ["-lfmt", "-lspdlog", "-lz", "-lcrypto", "-lhwloc", "-lpthread"]
        subprocess.run(["c++", "-std=c++20", f"-I{source}/include", f"-I{source}/src", *map(str, sources + libraries), *system,
                        "-o", str(work / "program")], check=True)
        output = subprocess.run([str(work / "program")], check=True, text=True, stdout=subprocess.PIPE).stdout.strip()
    assert output == "hits 2 fetched 4", output
    print("the policy of docs/extending.md works:", output)


main()
