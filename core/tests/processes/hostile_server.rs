//! A server that does what no server should: who is connected to it gets an error or another connection, in bounded memory,
//! and everything else in the process goes on.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::hostile::{AUTHORITY, Hostile, Peer, Trick, welcome};
use crate::support::{SOON, is_run_elsewhere, lock_of, options, server, soon};
use zkrecipes::{Auth, Client, ClientOptions, ErrorKind, RetryOptions, SaslOptions, TlsOptions};
use zkrecipes_protocol::{Event, EventKind, Op, Reply, Stat, Writer};

const A_SECOND: Duration = Duration::from_secs(1);
/// What one case may take: an answer is 64 MiB at most, and memory that grows is twice there for a moment.
const MOST_MEMORY: usize = 160 << 20;

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    /// No session, for this reason.
    Refused(ErrorKind),
    /// A session, whose connection is given up for another one; calls end.
    Again,
    /// The one or the other, as what arrives is cut.
    Either,
}

use Outcome::{Again, Either, Refused};

#[derive(Clone)]
struct Case {
    what: String,
    outcome: Outcome,
    options: ClientOptions,
    trick: Trick,
}

fn base() -> ClientOptions {
    let retry = RetryOptions::default().base(Duration::from_millis(50)).give_up_after(A_SECOND);
    options(2 * A_SECOND).connect_timeout(A_SECOND).retry(retry)
}

fn case(
    what: &str,
    outcome: Outcome,
    trick: impl Fn(&mut Peer) -> std::io::Result<()> + Send + Sync + 'static,
) -> Case {
    // On a busy machine a handshake takes its time.
    let is_answered = matches!(outcome, Again | Refused(ErrorKind::Denied));
    let options = if is_answered { base().connect_timeout(10 * A_SECOND) } else { base() };
    Case { what: what.to_owned(), outcome, options, trick: Arc::new(trick) }
}

fn stat(xid: i32) -> Vec<u8> {
    let mut w = Writer::reply(xid, 1, 0);
    Reply::Stat(Stat::default()).write(&mut w);
    w.finish()
}

/// A length, and nothing of what it promises.
fn declared(bytes: u32) -> [u8; 4] {
    bytes.to_be_bytes()
}

fn frames() -> Vec<Case> {
    const LONG: u32 = (64 << 20) - 1;
    let zeros = vec![0; 1 << 20];
    let (again, endless) = (zeros.clone(), zeros.clone());
    vec![
        case("2 GiB instead of a welcome", Refused(ErrorKind::ConnectionLost), |peer| {
            peer.frame()?;
            peer.send(&declared(i32::MAX as u32))?;
            peer.stall()
        }),
        case("64 MiB instead of a welcome", Refused(ErrorKind::ConnectionLost), move |peer| {
            peer.frame()?;
            peer.send(&declared(LONG))?;
            peer.flood(&again)
        }),
        case("an answer of 2 GiB", Again, move |peer| {
            peer.welcome()?;
            peer.asked()?;
            peer.send(&declared(i32::MAX as u32))?;
            peer.flood(&zeros)
        }),
        case("an answer of less than nothing", Again, |peer| {
            peer.welcome()?;
            peer.asked()?;
            peer.send(&declared(u32::MAX))?;
            peer.stall()
        }),
        case("64 MiB of nonsense", Again, move |peer| {
            peer.welcome()?;
            peer.asked()?;
            peer.send(&declared(LONG))?;
            peer.flood(&endless)
        }),
        case("a byte at a time and never an answer", Again, |peer| {
            peer.welcome()?;
            peer.asked()?;
            peer.send(&declared(1000))?;
            loop {
                peer.send(&[0])?;
                std::thread::sleep(Duration::from_millis(20));
            }
        }),
    ]
}

fn answers() -> Vec<Case> {
    let event = Event::frame(EventKind::DataChanged, "/nobody/watches", 1).repeat(10_000);
    vec![
        case("2^31 names", Again, |peer| {
            peer.welcome()?;
            loop {
                match peer.asked()? {
                    (xid, Op::GET_CHILDREN | Op::GET_CHILDREN2) => {
                        let mut w = Writer::reply(xid, 1, 0);
                        w.int(i32::MAX).long(0);
                        peer.send(&w.finish())?;
                    }
                    (xid, _) => peer.send(&stat(xid))?,
                }
            }
        }),
        case("out of order", Again, |peer| {
            peer.welcome()?;
            let first = peer.asked()?.0;
            peer.send(&stat(first + 1))?;
            peer.stall()
        }),
        case("to nobody", Either, |peer| {
            peer.welcome()?;
            peer.send(&stat(77))?;
            peer.stall()
        }),
        case("twice", Again, |peer| {
            peer.welcome()?;
            let xid = peer.asked()?.0;
            peer.send(&stat(xid).repeat(2))?;
            peer.stall()
        }),
        case("events without end", Again, move |peer| {
            peer.welcome()?;
            peer.asked()?;
            peer.flood(&event)
        }),
        case("welcomes without end", Either, |peer| {
            peer.frame()?;
            peer.flood(&welcome())
        }),
    ]
}

/// Answers each step of SASL with what is next in the list, and the last one for ever.
fn challenging(what: &str, challenges: &'static [&'static [u8]]) -> Case {
    let trick = |peer: &mut Peer| {
        peer.welcome()?;
        let mut next = challenges.iter().chain(std::iter::repeat(challenges.last().expect("one")));
        loop {
            let (xid, _) = peer.asked()?;
            let mut w = Writer::reply(xid, 0, 0);
            w.buffer(next.next().copied());
            peer.send(&w.finish())?;
        }
    };
    let mut case = case(what, Refused(ErrorKind::Denied), trick);
    case.options = case.options.sasl(SaslOptions::new("me", "secret"));
    case
}

fn challenges() -> Vec<Case> {
    vec![
        challenging("a challenge with two escapes", &[br#"realm="a\"\"",nonce="x\"#]),
        challenging("challenges without end", &[br#"realm="r",nonce="n",algorithm=md5-sess"#]),
        challenging("continuations without end", &[br#"nonce="n",algorithm=md5-sess"#, b"rspauth=x"]),
    ]
}

/// Hello and the certificate, four records; two tickets; the welcome; an answer.
fn records() -> Vec<Case> {
    let stalled = |records: usize| {
        let outcome = if records < HANDSHAKE { Refused(ErrorKind::ConnectionLost) } else { Again };
        let what = format!("TLS stalls in record {records}");
        let mut case = case(&what, outcome, move |peer| peer.stall_in_record(records));
        case.options = case.options.tls(TlsOptions::default().ca(AUTHORITY));
        case
    };
    let mut all: Vec<_> = (0..=HANDSHAKE + 1).map(stalled).collect();
    let mut long = stalled(0);
    long.what = "TLS stalls while much is to be said".to_owned();
    for _ in 0..3 {
        long.options = long.options.auth(Auth::new("digest", format!("me:{}", "x".repeat(60_000))));
    }
    all.push(long);
    let mut farewell = case("TLS takes leave and goes on", Again, |peer| peer.take_leave_and_go_on());
    farewell.options = farewell.options.tls(TlsOptions::default().ca(AUTHORITY));
    all.push(farewell);
    all
}

const HANDSHAKE: usize = 5;

/// The memory of this process, now or at its most.
fn memory(which: &str) -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix(which)).expect("it is there");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
}

async fn outcome(case: &Case) -> Result<(), String> {
    let hostile = Hostile::begin(case.trick.clone());
    let connected = soon(&case.what, Client::connect(&hostile.hosts, case.options.clone())).await;
    let client = match (connected, case.outcome) {
        (Err(error), Refused(kind)) if error.kind() == kind => return Ok(()),
        (Err(error), Either) if error.kind() == ErrorKind::ConnectionLost => return Ok(()),
        (Ok(client), Again | Either) => client,
        (connected, expected) => return Err(format!("{connected:?} instead of {expected:?}")),
    };
    for _ in 0..2 {
        let nodes = client.nodes();
        let (stat, names) =
            tokio::join!(soon(&case.what, nodes.exists("/")), soon(&case.what, nodes.children("/")),);
        for error in [stat.err(), names.err()].into_iter().flatten() {
            if error.kind() != ErrorKind::ConnectionLost {
                return Err(format!("{error:?}"));
            }
        }
    }
    let until = Instant::now() + SOON;
    while hostile.connections() < 2 {
        if Instant::now() > until {
            return Err("its connection is not given up".to_owned());
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // Of a server that answers nothing the end of the session is not confirmed, either.
    let _ = soon(&case.what, client.close(Some(A_SECOND))).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_server_costs_an_error_and_nobody_else_anything() {
    if is_run_elsewhere("hostile_server::a_hostile_server_costs_an_error_and_nobody_else_anything", |_| {}) {
        return;
    }
    let honest = server();
    // Less than all cases take together, and more than a busy machine takes for a heartbeat.
    let options = options(20 * A_SECOND);
    let bystander = Client::connect(&honest.connect_string(), options).await.expect("an honest server");
    let held = lock_of(&bystander, "/locks/bystander").acquire().await.expect("free");
    let mut failed = Vec::new();
    for case in [frames(), answers(), challenges(), records()].concat() {
        let (before, begun) = (memory("VmRSS:"), Instant::now());
        // The most is counted anew.
        std::fs::write("/proc/self/clear_refs", "5").expect("Linux");
        let outcome = outcome(&case).await;
        let grown = memory("VmHWM:").saturating_sub(before);
        eprintln!("{}: {outcome:?} after {:?}, {} MiB more", case.what, begun.elapsed(), grown >> 20);
        if outcome.is_err() || grown > MOST_MEMORY || !held.is_held() {
            failed.push(format!("{}: {outcome:?}, {grown} bytes, held: {}", case.what, held.is_held()));
        }
    }
    let counted = bystander.metrics();
    assert!(failed.is_empty(), "{failed:#?}");
    assert_eq!((counted.suspensions, counted.sessions_lost), (0, 0));
    held.release().await.expect("still ours");
}
