//! What `--help` prints.

use crate::outcome::{self, Failure, Outcome};

pub(crate) fn print(page: &str) -> Outcome {
    outcome::print(page)
}

pub(crate) fn about(topic: &str) -> Outcome {
    match topic {
        "ls" => print(LS),
        "watch" => print(WATCH),
        "break" => print(BREAK),
        "lock" => print(LOCK),
        _ => Err(Failure::usage(format!(
            "there is no help on {topic:?}; there is on ls, watch, break and lock"
        ))),
    }
}

/// The end of every page.
macro_rules! common {
    () => {
        "
OPTIONS OF EVERY COMMAND
    --hosts HOSTS     servers, such as zk1:2181,zk2:2181/app; otherwise
                      ZKRECIPES_HOSTS
    --session-timeout TIME
                      how long the servers keep the session of a silent
                      client (10s)
    --connect-timeout TIME
                      how long to try to reach a server (10s)
    --auth SCHEME:CREDENTIAL
                      such as digest:user:password, as often as needed;
                      otherwise ZKRECIPES_AUTH, which other users of the
                      machine cannot see with ps
    --identity NAME   what others see as the holder (host:pid)
    --naming NAMES    whose node names to use: curator, kazoo or zookeeper
                      (curator); whoever only looks recognises them all, and
                      needs it only for a semaphore of kazoo's that nobody
                      holds
    -h, --help        this page
    -V, --version     the version; before the name of a command

    TIME is a number with ms, s, m, h or d, or a number of seconds.

EXIT STATUS
    0   done                        74  the output could not be written
    1   break: nobody to ask        75  not acquired (see lock)
    2   the command line is wrong   76  lost: the lock was gone before the
    69  no server answers               command had ended
    70  an error inside zkrecipes   77  denied, or wrong credentials
                                    128 + N  ended by signal N
"
    };
}

pub(crate) const GENERAL: &str = concat!(
    "zkrecipes - distributed locks on Apache ZooKeeper, from the shell

USAGE
    zkrecipes ls PATH         who holds a lock or a semaphore, and who waits
    zkrecipes watch PATH      the same, as it changes
    zkrecipes break PATH NODE ask a contender to let go; delete its node if it
                              does not
    zkrecipes lock PATH -- COMMAND ...
                              run a command under a lock, like flock(1)
    zkrecipes help COMMAND    more about one of these

EXAMPLES
    export ZKRECIPES_HOSTS=zk1:2181,zk2:2181,zk3:2181
    zkrecipes lock /locks/backup -- backup.sh
    zkrecipes ls /locks/backup
    zkrecipes break /locks/backup holder --force-after 30s
",
    common!()
);

pub(crate) const LS: &str = concat!(
    "zkrecipes ls - who holds a lock or a semaphore, and who waits for it

USAGE
    zkrecipes ls [OPTIONS] PATH

    PATH is what a lock, a read/write lock or a semaphore was made with. The
    contenders of Apache Curator, kazoo and ZooKeeper's own recipes are shown
    too.

    PLACE      from 1, in the order in which they get it
    HOLDS      yes or no
    KIND       lock, read, write, or lease for a permit of a semaphore; who
               waits for permits queues for a lock
    IDENTITY   what the contender says of itself, host:pid by default
    SINCE      for how long it has been there
    SESSION    its session with ZooKeeper
    NODE       its node below PATH, or its whole path if it is elsewhere, as
               zkrecipes break takes it

OPTIONS
    --json     an array of objects: place, holds, asked, kind, identity,
               since, session, node; identity is null once the contender was
               asked to let go, because the question replaces it

EXAMPLES
    zkrecipes ls /locks/backup
    zkrecipes ls /limits/exports --json |
        jq -r '.[] | select(.holds) | .identity'
",
    common!()
);

pub(crate) const WATCH: &str = concat!(
    "zkrecipes watch - who holds a lock or a semaphore, as it changes

USAGE
    zkrecipes watch [OPTIONS] PATH

    On a terminal: the table of zkrecipes ls, drawn again when somebody comes
    or goes. Elsewhere: a line for everybody who is there, then one for every
    change: time, what happened (waits, holds, asked, gone), kind, identity,
    node. Waits through an outage. Ctrl-C ends it, with status 0.

    Looks five times a second: who comes and goes in between is not seen, and
    that somebody was asked shows within five seconds. It leaves no watches on
    the servers. What it costs them: a read of some 100 bytes per look (two or
    three for a semaphore), whatever the length of the queue, answered by the
    server it is connected to; and one read per contender whenever somebody
    has come or gone, and every five seconds.

OPTIONS
    --for TIME   end by itself, with status 0
    --json       an object per line: at, event, and the fields of ls --json

EXAMPLES
    zkrecipes watch /locks/backup
    zkrecipes watch /locks/backup --for 8h >> backup-lock.log
    zkrecipes watch /locks/backup --json | jq 'select(.event == \"holds\")'
",
    common!()
);

pub(crate) const BREAK: &str = concat!(
    "zkrecipes break - ask a contender to let go; delete its node if it does not

USAGE
    zkrecipes break [OPTIONS] PATH NODE

    NODE is a node of zkrecipes ls PATH, or the word holder for everybody who
    holds. The contender is asked: programs that use zkrecipes hear of it and
    let go when they can; others may not listen. Nothing else happens without
    --force-after. Prints what it did, and asks no questions.

    A holder whose node was deleted is told at once if it listens, otherwise
    within a quarter of its session timeout; one that is cut off from ZooKeeper
    goes on until its lease runs out. Guarded writes, and a resource that
    checks fencing tokens, are protected from that.

OPTIONS
    --force-after TIME   delete exactly the nodes that were asked when they
                         have not gone by then; 0 at once

EXAMPLES
    zkrecipes break /locks/backup holder
    zkrecipes break /locks/backup holder --force-after 10s
    zkrecipes break /limits/exports leases/_c_5e1d...-lease-0000000007
",
    common!()
);

pub(crate) const LOCK: &str = concat!(
    "zkrecipes lock - run a command under a lock, like flock(1)

USAGE
    zkrecipes lock [OPTIONS] PATH [--] COMMAND [ARGUMENT ...]

    Waits for the lock at PATH, runs the command, releases, and exits with the
    command's status (128 + N if signal N ended it; 126 or 127 if it could not
    be run). The command finds in its environment

    ZKR_FENCING_TOKEN   a number that rises with every acquisition: a resource
                        that refuses lower ones than it has seen is protected
                        even from a holder that does not know yet that it lost
    ZKR_SEQUENCER       this very acquisition as a string, which any program
                        that uses zkrecipes can check

    INT, TERM, HUP, QUIT, USR1, USR2 and WINCH are passed on. The command
    stays in the foreground of the terminal: Ctrl-C reaches it directly, and
    once. While the lock is waited for, a signal gives up: 128 + N.

    When the lock is lost (its session ended, its node was deleted) the
    command and the processes it started get TERM, and KILL after the grace;
    the status is then 76. Processes that have detached themselves are not
    reached. If zkrecipes itself is killed, the command gets TERM (on Linux,
    unless --on-loss continue). Ctrl-Z stops both, and the lock is lost after
    the session timeout.

WHAT TO TAKE
    (nothing said)    a lock: one holder
    -s, --shared      the read side of a read/write lock, held together
    --write           its write side: one holder. Among programs that use
                      zkrecipes the same as a lock, but Apache Curator's
                      readers respect writers only: use it beside readers
    --permits SIZE    one permit of a semaphore; all must name the same size
    --permits SIZE --take N
                      N permits of it at once
    --permits N --of SIZE
                      the same, the other way round

OPTIONS
    -n, --try         do not wait
    -w, --timeout TIME
                      wait no longer than that
    -E, --conflict-exit-code N
                      the status when it could not be had in time (75)
    --on-loss WHAT    kill the command (the default), or continue: it runs on,
                      and a status of 0 becomes 76
    --on-revoke WHAT  when somebody asks for the lock (zkrecipes break):
                      continue (the default), or kill as above; the status is
                      then the command's
    --grace TIME      between TERM and KILL (5s)

EXAMPLES
    zkrecipes lock /locks/backup -- backup.sh --full
    zkrecipes lock --try /locks/cron/report -- report.sh || test $? = 75
    zkrecipes lock --timeout 30s -E 0 /locks/backup -- backup.sh
    zkrecipes lock --shared /locks/catalogue -- read-catalogue
    zkrecipes lock --permits 3 /limits/exports -- export.sh
    zkrecipes lock /locks/db -- sh -c 'migrate --token \"$ZKR_FENCING_TOKEN\"'
",
    common!()
);
