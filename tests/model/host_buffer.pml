/* SPDX-License-Identifier: Apache-2.0
 *
 * The protocol by which trainers of a host share slots, as src/dataplane/host_buffer_impl.cc runs it. Every action below is
 * one critical section of that monitor; waits are guards. Trainers may die between any two actions. Spin visits all
 * interleavings and checks that
 *   - no slot is written, and no staging memory used again, while a trainer may read it (assertions in `admit`);
 *   - a trainer reads its batches in order and the batch it reads is in place (assertions in `take`);
 *   - nobody waits for ever: every end state is one in which all have ended (invalid end states are errors).
 */
#define TRAINERS 3
#define STEPS 3
#define DEPTH 1

byte asked[TRAINERS];
byte offered[TRAINERS];
byte taken[TRAINERS];   /* batches taken; the one held is taken - 1 */
bool holding[TRAINERS];
bool gone[TRAINERS];

byte wanted = 0;        /* batches that may have been offered */
byte merged = 0;
byte started = 0;
byte finished = 0;
byte in_flight = 0;     /* started, not brought into place; in order */
bool current = false;   /* batch `finished` is in place */
bool busy = false;      /* somebody waits for the network or admits, without the mutex */
bool closed = false;    /* all trainers have left */
bool writing = false;   /* slots are being written */

#define ALL_GONE (gone[0] && gone[1] && gone[2])
#define OFFERED(i) (gone[i] || offered[i] > merged)
#define ALL_OFFERED (OFFERED(0) && OFFERED(1) && OFFERED(2))
#define ASKED(i) (gone[i] || started < asked[i] + DEPTH)
#define NEAR (ASKED(0) && ASKED(1) && ASKED(2))
#ifdef FORGET_READERS /* the mistake that the check must find */
#define RELEASED(i) (gone[i] || taken[i] > finished)
#else
#define RELEASED(i) (gone[i] || (taken[i] > finished && !holding[i]))
#endif
#define ALL_RELEASED (RELEASED(0) && RELEASED(1) && RELEASED(2))

/* admit_if_released(): decides under the mutex, copies without it, ends under it. */
inline admit_if_released() {
  if
  :: atomic { current && !busy && ALL_RELEASED -> current = false; busy = true; writing = true;
       assert(!(holding[0] && !gone[0]) && !(holding[1] && !gone[1]) && !(holding[2] && !gone[2])) }
     atomic { assert(!(holding[0] && !gone[0]) && !(holding[1] && !gone[1]) && !(holding[2] && !gone[2]));
       writing = false; busy = false; finished++ }
  :: atomic { else -> skip }
  fi
}

proctype Planner() {
  do
  :: closed || started == STEPS -> break
  :: else ->
     if
     :: atomic { !closed && merged == started -> wanted = merged + 1 }
        if
        :: atomic { !closed && ALL_OFFERED -> merged++ }
        :: closed -> break
        fi
     :: merged > started
     :: closed -> break
     fi;
     if
     :: atomic { !closed && NEAR && started - finished < DEPTH + 1 -> started++; in_flight++ }
     :: closed -> break
     fi
  od
}

proctype Trainer(byte i) {
  byte step = 0;
  do
  :: step == STEPS -> break
  :: step < STEPS ->
     /* offer() and ask() come from threads of their own in the program; in any order before take(). */
     if
     :: atomic { offered[i] < wanted -> offered[i]++ } atomic { asked[i]++ }
     :: atomic { asked[i]++ } atomic { offered[i] < wanted -> offered[i]++ }
     :: goto dead
     fi;
     /* take(): brings the next batch into place on behalf of all, or waits. */
     do
     :: atomic { current && finished == taken[i] && !holding[i] ->
          assert(!writing && taken[i] == step); holding[i] = true; taken[i]++; break }
     :: atomic { !busy && !current && in_flight > 0 && taken[i] == step -> in_flight--; busy = true }
        atomic { busy = false; current = true }
     :: goto dead
     od;
     /* Reads the rows; may die while it does. */
     if
     :: atomic { assert(!writing); skip }
     :: goto dead
     fi;
     atomic { holding[i] = false }
     admit_if_released();
     step++
  od;
dead:
  atomic { gone[i] = true; holding[i] = false; if :: ALL_GONE -> closed = true :: else fi }
  admit_if_released()
}

init {
  atomic { run Planner(); run Trainer(0); run Trainer(1); run Trainer(2) }
}
