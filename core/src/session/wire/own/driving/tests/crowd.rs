//! Two hundred threads on one session, of which one is stopped while it drives: how late the answers of the others are.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Barrier;
use std::sync::atomic::AtomicBool;

use tokio::sync::oneshot;

use super::*;

const THREADS: u32 = 200;
/// One after the other, so that what is late is so because of the stop and not because of the crowd.
const APART: Duration = Duration::from_millis(2);
/// What a machine that is busy with other tests may add to the watchdog, for nearly everybody; and for one that waits for a
/// processor longer than others.
const ROOM_FOR_OTHERS: Duration = Duration::from_secs(1);
const MOST_ROOM: Duration = Duration::from_secs(8);

static IS_STOPPED: AtomicBool = AtomicBool::new(false);
static MAY_GO_ON: AtomicBool = AtomicBool::new(false);

/// Blocks the thread wherever it is, which is inside its poll.
extern "C" fn stop(_: i32) {
    IS_STOPPED.store(true, Ordering::SeqCst);
    while !MAY_GO_ON.load(Ordering::SeqCst) {
        // SAFETY: a handler may sleep.
        unsafe { libc::usleep(1000) };
    }
}

/// Awaits an answer that comes when the sender is dropped, on a thread that drives meanwhile.
fn answer_of(
    connected: &Connected,
) -> (oneshot::Sender<()>, impl Future<Output = Result<()>> + Send + 'static) {
    let (answer, mut answered) = oneshot::channel();
    let connection = connected.connection.clone();
    let awaiting = poll_fn(move |context| {
        note(&connection);
        Pin::new(&mut answered).poll(context).map(|_| Ok(()))
    });
    (answer, awaiting)
}

/// A thread that drives and is stopped while it polls, until [`Stopped::go_on`].
struct Stopped {
    answer: oneshot::Sender<()>,
    is_back: Receiver<Result<()>>,
}

impl Stopped {
    fn of(connected: &Connected) -> Stopped {
        on_signal(libc::SIGURG, stop);
        let (answer, awaiting) = answer_of(connected);
        let (tell, tells) = channel();
        let is_back = aside(move || {
            // SAFETY: this thread's own number.
            tell.send(unsafe { (libc::pthread_self(), libc::gettid()) }).expect("heard");
            drive::wait(awaiting, None, None)
        });
        let (thread, number) = tells.recv_timeout(SOON).expect("told");
        eventually("it drives", || connected.driver().is_some() && sleeps(number));
        // SAFETY: the thread waits for its answer.
        assert_eq!(unsafe { libc::pthread_kill(thread, libc::SIGURG) }, 0);
        eventually("it is stopped", || IS_STOPPED.load(Ordering::SeqCst));
        Stopped { answer, is_back }
    }

    fn go_on(self) {
        MAY_GO_ON.store(true, Ordering::SeqCst);
        drop(self.answer);
        assert_eq!(self.is_back.recv_timeout(SOON).expect("it goes on"), Ok(()));
    }
}

/// How long each of the threads waits for one answer, and what that is.
fn ask(connected: &Connected) -> Vec<(Duration, bool)> {
    let (tell, told) = channel();
    let together = Arc::new(Barrier::new(THREADS as usize));
    for number in 0..THREADS {
        let (wire, tell, together) = (connected.wire.clone(), tell.clone(), together.clone());
        thread(move || {
            together.wait();
            std::thread::sleep(APART * number);
            let asked = Instant::now();
            let answer = wait(wire.get_data("/"));
            let _ = tell.send((asked.elapsed(), answer.is_ok()));
        });
    }
    (0..THREADS).map(|_| told.recv_timeout(SOON).expect("each has an answer")).collect()
}

/// A thread whose hook makes blocking calls while it waits, until its answer comes: how long each of them took.
fn with_a_hook_that_blocks(connected: &Connected) -> (oneshot::Sender<()>, Receiver<Vec<Duration>>) {
    let (answer, awaiting) = answer_of(connected);
    let wire = connected.wire.clone();
    let took = aside(move || {
        let mut took = Vec::new();
        let mut hook = || {
            let asked = Instant::now();
            let _ = wait(wire.get_data("/"));
            took.push(asked.elapsed());
            true
        };
        let _ = drive::wait(awaiting, None, Some(Tick { every: Duration::from_millis(5), hook: &mut hook }));
        took
    });
    (answer, took)
}

/// All of them ask again and again until the session is closed: how long after that each of them is told of its end.
fn end_in_the_middle(connected: &Connected) -> Vec<Duration> {
    let (tell, told) = channel();
    let answered = Arc::new(AtomicUsize::new(0));
    for _ in 0..THREADS {
        let (wire, tell, answered) = (connected.wire.clone(), tell.clone(), answered.clone());
        thread(move || {
            let error = loop {
                match wait(wire.get_data("/")) {
                    Ok(_) => _ = answered.fetch_add(1, Ordering::SeqCst),
                    Err(error) => break error,
                }
            };
            let _ = tell.send(error.to_string());
        });
    }
    eventually("each has some answers", || answered.load(Ordering::SeqCst) > 3 * THREADS as usize);
    let closing = Instant::now();
    let closed = connected.wire.close();
    let closed = aside(move || drive::wait(closed.map(Ok), None, None));
    let mut ends = Vec::new();
    for _ in 0..THREADS {
        let error = told.recv_timeout(SOON).expect("each is told of the end");
        assert!(error.contains("SessionEnded"), "{error}");
        ends.push(closing.elapsed());
    }
    assert_eq!(closed.recv_timeout(SOON).expect("closed"), Ok(()));
    ends
}

/// How long the longest took, and how long the longest but one in ten.
fn latest(took: impl IntoIterator<Item = Duration>) -> (Duration, Duration) {
    let mut took: Vec<_> = took.into_iter().collect();
    took.sort();
    (*took.last().expect("there were some"), took[(took.len() - 1) * 9 / 10])
}

fn are_in_time((last, most): (Duration, Duration)) -> bool {
    most < WATCHDOG + ROOM_FOR_OTHERS && last < WATCHDOG + MOST_ROOM
}

#[test]
fn nobodys_answer_is_later_than_the_watchdog_while_a_thread_is_stopped_that_drives() {
    let connected = connected();
    let answers = ask(&connected);
    let usual = latest(answers.iter().map(|(took, _)| *took));
    let stopped = Stopped::of(&connected);
    let (answer, hooks) = with_a_hook_that_blocks(&connected);
    let answers = ask(&connected);
    drop(answer);
    assert!(answers.iter().all(|(_, is_answered)| *is_answered));
    let late = latest(answers.iter().map(|(took, _)| *took));
    let in_hooks = latest(hooks.recv_timeout(SOON).expect("its answer comes"));
    println!(
        "of {THREADS} answers the last, and the last but one in ten, came after {usual:?}; with the driver stopped after \
         {late:?}, in a hook after {in_hooks:?}"
    );
    assert!(are_in_time(late) && are_in_time(in_hooks), "{late:?}, in a hook {in_hooks:?}");
    let ends = latest(end_in_the_middle(&connected));
    println!(
        "closed meanwhile, each of {THREADS} that ask without a pause, and all but one in ten, know it {ends:?} later"
    );
    assert!(are_in_time(ends), "{ends:?}");
    stopped.go_on();
}
