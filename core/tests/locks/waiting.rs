//! Who waits can see for whom, and how long: while it waits, and in the error when the time is over.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::{SOON, client_with, eventually, lock_of, options, requests, server, soon};
use zkrecipes::{
    Client, DoubleBarrier, Election, ElectionOptions, Error, ErrorKind, Handle, QueueOptions, Subscription,
    WaitProgress,
};
use zkrecipes_embedded::{LogEntry, Server};

const TEN: Duration = Duration::from_secs(10);

async fn named(server: &Server, name: &str) -> Client {
    Client::connect(&server.connect_string(), options(TEN).identity(name)).await.expect("the server answers")
}

type Told = Arc<Mutex<Vec<WaitProgress>>>;

fn listen(handle: &Handle) -> Told {
    let told = Told::default();
    let all = told.clone();
    handle.on_wait(move |progress| all.lock().expect("no panic").push(progress)).expect("it is open");
    told
}

fn first(told: &Told) -> WaitProgress {
    told.lock().expect("no panic")[0].clone()
}

async fn until_told(told: &Told, times: usize) {
    eventually("it is told", || told.lock().expect("no panic").len() >= times).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_told_for_whom_after_a_second_for_one_read_each_time() -> Result<(), Error> {
    let (server, path) = (server(), "/locks/visible");
    let (holder, next, waiter) =
        (named(&server, "night-shift").await, named(&server, "next").await, named(&server, "waiter").await);
    let held = lock_of(&holder, path).acquire().await?;
    let second = tokio::spawn(lock_of(&next, path).acquire());
    eventually("it queues", || crate::support::nodes_under(&server, path).len() == 2).await;
    let lock = lock_of(&waiter, path);
    let told = listen(&lock);
    let begun = Instant::now();
    let waiting = tokio::spawn(lock.acquire());
    eventually("it queues", || crate::support::nodes_under(&server, path).len() == 3).await;
    eventually("it watches", || server.watch_count() == 5).await;
    server.clear_log();
    until_told(&told, 1).await;
    assert!(begun.elapsed() >= Duration::from_secs(1));
    let progress = first(&told);
    assert!(progress.waited >= Duration::from_secs(1) && progress.waited <= begun.elapsed(), "{progress:?}");
    assert_eq!((progress.path.as_str(), progress.ahead), (path, Some(2)));
    let who = progress.holder.expect("it is known");
    assert_eq!((who.identity.as_str(), who.holds), ("night-shift", true));
    assert!(held.node().ends_with(&who.node), "{who:?}");
    let asked = |op: &str| requests(&server).iter().filter(|asked| *asked == op).count();
    assert_eq!((asked("getData"), asked("getChildren"), asked("getChildren2")), (1, 0, 0));

    // The holder goes while nobody tells: the next look finds who holds now.
    held.release().await?;
    let second = soon("the turn", second).await.expect("joined")?;
    until_told(&told, 2).await;
    let now = told.lock().expect("no panic")[1].clone();
    assert_eq!((now.ahead, now.holder.map(|who| who.identity)), (Some(1), Some("next".into())));
    second.release().await?;
    let held = soon("the turn", waiting).await.expect("joined")?;
    let times = told.lock().expect("no panic").len();
    held.release().await?;

    // Who does not wait long is not told, and nobody is told of a wait that is over.
    lock.acquire().await?.release().await?;
    assert_eq!(told.lock().expect("no panic").len(), times);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_far_behind_still_knows_who_holds_when_the_next_one_ahead_is_asked_to_go()
-> Result<(), Error> {
    let (server, path) = (server(), "/locks/far");
    let holder = named(&server, "night-shift").await;
    let held = lock_of(&holder, path).acquire().await?;
    let mut ahead = Vec::new();
    for watches in [2, 5] {
        ahead.push(tokio::spawn(lock_of(&named(&server, "ahead").await, path).acquire()));
        eventually("it waits", || server.watch_count() == watches).await;
    }
    let nodes = crate::support::nodes_under(&server, path);
    let number = |node: &&String| node[node.len() - 10..].to_owned();
    let next = nodes.iter().max_by_key(number).expect("it queues");
    let waiter = named(&server, "waiter").await;
    let lock = lock_of(&waiter, path);
    let told = listen(&lock);
    let waiting = tokio::spawn(lock.acquire());
    eventually("it waits", || server.watch_count() == 8).await;
    server.clear_log();
    holder.nodes().set(next, b"__REVOKE__", None).await?;
    // Those ahead look as well, each at its own.
    let again = |entry: &LogEntry| entry.op == "getData" && entry.session_id == waiter.session_id();
    eventually("it looks again", || server.log().iter().any(again)).await;
    until_told(&told, 1).await;
    let progress = first(&told);
    let who = progress.holder.map(|holder| holder.identity);
    assert_eq!((progress.ahead, who.as_deref()), (Some(3), Some("night-shift")));
    held.release().await?;
    for one in ahead {
        soon("the turn", one).await.expect("joined")?.release().await?;
    }
    soon("the turn", waiting).await.expect("joined")?.release().await
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_listen_asks_nothing() -> Result<(), Error> {
    let (server, path) = (server(), "/locks/quiet");
    let (holder, waiter) = (client_with(&server, TEN).await, client_with(&server, TEN).await);
    let held = lock_of(&holder, path).acquire().await?;
    let lock = lock_of(&waiter, path);
    let told = Told::default();
    let all = told.clone();
    lock.on_wait(move |progress| all.lock().expect("no panic").push(progress))?.unsubscribe();
    let waiting = tokio::spawn(lock.acquire());
    eventually("it waits", || server.watch_count() >= 2).await;
    server.clear_log();
    let reads = || requests(&server).iter().filter(|op| op.starts_with("get")).count();
    // Others wait meanwhile, and are told: so the time is over in which this one would have been.
    let listener = lock_of(&holder, path);
    let heard = listen(&listener);
    let other = tokio::spawn(listener.acquire());
    until_told(&heard, 1).await;
    assert!(told.lock().expect("no panic").is_empty());
    assert!(reads() <= 5, "the other one's: a list, two watches, a look: {:?}", requests(&server));
    held.release().await?;
    soon("the turn", waiting).await.expect("joined")?.release().await?;
    soon("the turn", other).await.expect("joined")?.release().await
}

#[tokio::test(flavor = "multi_thread")]
async fn all_that_can_be_acquired_tells_of_its_waits() -> Result<(), Error> {
    let server = server();
    let (holder, waiter) = (named(&server, "holder").await, named(&server, "waiter").await);
    let election = |client: &Client| -> Result<Election, Error> {
        client.election("/elections/visible", b"me", ElectionOptions::default())
    };
    let several =
        |client: &Client| client.multi_lock(&[lock_of(client, "/locks/a"), lock_of(client, "/locks/b")]);
    let semaphore = |client: &Client| client.semaphore("/limits/visible", 1);
    let sides = |client: &Client| client.read_write_lock("/locks/sides");
    let leads = election(&holder)?.campaign().await?;
    let all = several(&holder)?.acquire().await?;
    let permit = semaphore(&holder)?.acquire(1).await?;
    let writes = sides(&holder)?.write().acquire().await?;
    let (stands, wants, asks, reads) =
        (election(&waiter)?, several(&waiter)?, semaphore(&waiter)?, sides(&waiter)?);
    let own = lock_of(&waiter, "/locks/own");
    let kept = own.acquire().await?;
    let told = [listen(&stands), listen(&wants), listen(&asks), listen(reads.read()), listen(&own)];
    let waits = [
        tokio::spawn(async move { stands.campaign().await.map(drop) }),
        tokio::spawn(async move { wants.acquire().await.map(drop) }),
        tokio::spawn(async move { asks.acquire(1).await.map(drop) }),
        tokio::spawn(async move { reads.read().acquire().await.map(drop) }),
        tokio::spawn(async move { own.acquire().await.map(drop) }),
    ];
    for (told, who) in told.iter().zip(["holder", "holder", "holder", "holder", "waiter"]) {
        until_told(told, 1).await;
        let progress = first(told);
        let holder = progress.holder.clone().unwrap_or_else(|| panic!("nobody holds: {progress:?}"));
        assert_eq!(holder.identity, who, "{progress:?}");
        // Of a multi-lock a node is a whole path.
        assert_eq!(holder.node.starts_with('/'), progress.path.contains(' '), "{progress:?}");
    }
    leads.release().await?;
    for held in [all, permit, writes, kept] {
        held.release().await?;
    }
    for wait in waits {
        soon("the turn", wait).await.expect("joined")?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_asked_to_let_go_keeps_its_name_as_far_as_it_is_known() -> Result<(), Error> {
    let server = server();
    let (holder, waiter) = (named(&server, "holder").await, named(&server, "waiter").await);
    let lock = |client: &Client| lock_of(client, "/locks/asked");
    let semaphore = |client: &Client| client.semaphore("/limits/asked", 1);
    let (held, permit) = (lock(&holder).acquire().await?, semaphore(&holder)?.acquire(1).await?);
    let comes_late = named(&server, "late").await;
    let (wants, asks, also, late) = (lock(&waiter), semaphore(&waiter)?, lock(&waiter), lock(&comes_late));
    let told = [listen(&wants), listen(&asks), listen(&also), listen(&late)];
    let waiting = tokio::spawn(async move { wants.acquire().await });
    let reads = |entry: &LogEntry| entry.session_id == waiter.session_id() && entry.path == held.node();
    eventually("it has read who holds", || server.log().iter().any(reads)).await;
    assert!(lock(&waiter).revoke(None, None).await? && semaphore(&waiter)?.revoke(None, None).await?);
    // Who comes later has never read who holds, but knows it from another one of its client.
    let (asks, also) = (
        tokio::spawn(async move { asks.acquire(1).await }),
        tokio::spawn(async move { also.acquire().await }),
    );
    // Directly behind that one.
    let line = lock(&holder);
    soon("three in line", async { while line.contenders().await.expect("listed").len() < 3 {} }).await;
    let waits = [waiting, asks, also, tokio::spawn(async move { late.acquire().await })];
    for (told, who) in told.iter().zip(["holder", "", "holder", ""]) {
        until_told(told, 1).await;
        let progress = first(told);
        let said = progress.holder.clone().map(|holder| (holder.identity, holder.holds));
        // By then the holder may have heard, and said again who it is.
        let again = who.is_empty().then(|| ("holder".to_owned(), true));
        assert!(said == Some((who.to_owned(), true)) || said == again, "{progress:?}");
    }
    held.release().await?;
    permit.release().await?;
    for wait in waits {
        soon("the turn", wait).await.expect("joined")?.release().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listens_to_the_waits_of_a_closed_client() -> Result<(), Error> {
    let server = server();
    let client = client_with(&server, TEN).await;
    let lock = lock_of(&client, "/locks/closed");
    client.close(None).await?;
    assert_eq!(lock.on_wait(|_| {}).expect_err("it is closed").kind(), ErrorKind::Closed);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_names_the_limit_and_who_holds() -> Result<(), Error> {
    let (server, path) = (server(), "/locks/timeout");
    let (holder, waiter) = (named(&server, "night shift").await, named(&server, "waiter").await);
    let own = lock_of(&holder, path);
    let held = own.acquire().await?;
    let node = held.node().rsplit('/').next().expect("a name").to_owned();
    let out_of_time = |limit: Duration| {
        let waiting = lock_of(&waiter, path).acquire_timeout(limit);
        async move { soon("the end", waiting).await.map(drop).expect_err("it is held").to_string() }
    };
    let [leading, standing] =
        [&holder, &waiter].map(|one| one.election("/leaders/timeout", b"", ElectionOptions::default()));
    let (_leads, standing) = (leading?.campaign().await?, standing?);
    server.clear_log();
    // So long that they have read for whom they wait. Both at once.
    let limit = Duration::from_millis(1500);
    let (error, elected) = tokio::join!(out_of_time(limit), standing.campaign_timeout(limit));
    assert!(error.starts_with("not acquired within 1.5s: "), "{error}");
    assert!(error.contains("\"night shift\" holds it, since 20") && error.contains(&node), "{error}");
    assert!(error.ends_with(&format!("try again or allow more ({path})")), "{error}");
    // Two watches, in which that was read.
    let reads = server.count("getData", &format!("{path}/**"));
    assert_eq!(reads, 2, "{:?}", requests(&server));
    let error = elected.map(drop).expect_err("another leads").to_string();
    assert!(error.starts_with("not elected within 1.5s: \"night shift\" leads, since 20"), "{error}");

    // The same in the client that holds, through another handle and through the very one.
    let short = Duration::from_millis(300);
    let error = lock_of(&holder, path).acquire_timeout(short).await.expect_err("it is held").to_string();
    assert!(error.contains("\"night shift\" holds it, since 20") && error.contains(&node), "{error}");
    let error = own.acquire_timeout(short).await.expect_err("it is held").to_string();
    assert!(
        error.contains("within 300ms: this very handle holds it, by ") && error.contains(&node),
        "{error}"
    );
    assert!(error.contains("; let go of it first") && !error.contains("allow more"), "{error}");

    // With others in between it is not known, and asking would take time that nobody has given.
    let between = tokio::spawn(lock_of(&holder, path).acquire());
    eventually("it queues", || crate::support::nodes_under(&server, path).len() == 2).await;
    let error = out_of_time(Duration::from_millis(300)).await;
    assert!(!error.contains("holds it") && error.contains("300ms"), "{error}");
    let error = out_of_time(Duration::ZERO).await;
    assert!(error.starts_with("not acquired in time; "), "{error}");
    held.release().await?;
    soon("the turn", between).await.expect("joined")?.release().await?;
    let barrier = waiter.barrier("/barriers/timeout")?;
    barrier.create().await?;
    let error = barrier.wait(Some(Duration::from_millis(20))).await.expect_err("it is up").to_string();
    assert!(error.contains("within 20ms"), "{error}");
    Ok(())
}

/// What is wrong when nobody answers at `hosts`.
async fn unreachable(hosts: &str) -> String {
    let options = options(TEN).connect_timeout(Duration::from_secs(3));
    let error = Client::connect(hosts, options).await.expect_err("no server");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    let error = error.to_string();
    assert!(error.contains("within 3s") && error.contains("connect_timeout"), "{error}");
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn no_connection_says_for_each_server_what_is_wrong_with_it() {
    // Nothing listens, not even a server of another test that is given the same port.
    let refusing = "127.83.0.1:1";
    // Nobody takes what is connected.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent_at = silent.local_addr().expect("bound").to_string();
    // Whoever connects is sent away.
    let closing = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let closing_at = closing.local_addr().expect("bound").to_string();
    std::thread::spawn(move || closing.incoming().for_each(drop));
    // A server that gives no session.
    let stalled = server();
    stalled.inject(zkrecipes_embedded::Fault::stall_connections(SOON));
    let stalled_at = stalled.connect_string();
    let is_own = std::env::var_os("ZKR_WIRE").is_none_or(|wire| wire != "crate");
    let of_wires = |own, other| if is_own { own } else { other };
    let cases = [
        (refusing, "refuses connections"),
        (&silent_at, of_wires("takes connections, but gives no session", "takes connections, but is silent")),
        (&closing_at, "closes connections"),
        (&stalled_at, of_wires("takes connections, but gives no session", "runs, but gave us no session")),
        ("no-such-host.invalid:2181", "has a name without an address"),
    ];
    let several = format!("{refusing},{silent_at},{closing_at},{stalled_at}");
    let one_by_one = futures_util::future::join_all(cases.map(|(hosts, _)| unreachable(hosts)));
    let (errors, error) = tokio::join!(one_by_one, unreachable(&several));
    for ((hosts, what), error) in cases.iter().zip(errors) {
        assert!(error.contains(&format!("{hosts} {what}")), "{what}: {error}");
    }
    assert!(error.contains("refuses connections") && error.contains("and 1 more"), "{error}");
    drop(silent);
}

fn told_by(
    on_wait: impl FnOnce(Box<dyn Fn(WaitProgress) + Send + Sync>) -> Result<Subscription, Error>,
) -> Told {
    let told = Told::default();
    let all = told.clone();
    on_wait(Box::new(move |progress| all.lock().expect("no panic").push(progress))).expect("it is open");
    told
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_at_a_barrier_is_told_who_has_put_it_up() -> Result<(), Error> {
    let (server, path) = (server(), "/barriers/visible");
    let (keeper, waiter) = (named(&server, "keeper").await, named(&server, "waiter").await);
    keeper.barrier(path)?.create().await?;
    let barrier = waiter.barrier(path)?;
    let told = told_by(|tell| barrier.on_wait(tell));
    let waiting = tokio::spawn(async move { barrier.wait(None).await });
    until_told(&told, 1).await;
    let progress = first(&told);
    let who = progress.holder.expect("it is known");
    assert_eq!((progress.path.as_str(), progress.ahead, who.identity.as_str()), (path, None, "keeper"));
    assert!(progress.waited >= Duration::from_secs(1) && who.holds, "{who:?}");
    keeper.barrier(path)?.remove().await?;
    soon("it is lifted", waiting).await.expect("joined")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_at_a_barrier_names_the_limit_and_who_has_put_it_up() -> Result<(), Error> {
    let (server, path) = (server(), "/barriers/timeout");
    let (keeper, waiter) = (named(&server, "night shift").await, named(&server, "waiter").await);
    keeper.barrier(path)?.create().await?;
    // So long that it has read for whom it waits.
    let error = waiter.barrier(path)?.wait(Some(Duration::from_millis(1200))).await.expect_err("it is up");
    let text = error.to_string();
    assert!(text.starts_with("the barrier was not lifted within 1.2s: "), "{text}");
    assert!(text.contains("\"night shift\" has put it up, at 2") && text.contains(path), "{text}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_enters_or_leaves_is_told_how_many_are_missing() -> Result<(), Error> {
    let (server, path) = (server(), "/barriers/round");
    let client = client_with(&server, TEN).await;
    let party = |name: &str| client.double_barrier(path, 3, Some(name));
    let (a, b, c) = (party("a")?, party("b")?, party("c")?);
    let told = told_by(|tell| a.on_wait(tell));
    let enters = |party: &DoubleBarrier| {
        tokio::spawn({
            let party = party.clone();
            async move { party.enter(None).await }
        })
    };
    let leaves = |party: &DoubleBarrier| {
        tokio::spawn({
            let party = party.clone();
            async move { party.leave(None).await }
        })
    };
    let entering = [enters(&a), enters(&b)];
    until_told(&told, 1).await;
    assert_eq!((first(&told).ahead, first(&told).holder), (Some(1), None), "{told:?}");
    for entered in entering.into_iter().chain([enters(&c)]) {
        soon("all are there", entered).await.expect("joined")?;
    }
    let before = told.lock().expect("no panic").len();
    let leaving = [leaves(&a), leaves(&b)];
    until_told(&told, before + 1).await;
    let progress = told.lock().expect("no panic")[before].clone();
    // Whoever is to delete `ready` stands until all others have gone.
    assert!(matches!(progress.ahead, Some(1 | 2)) && progress.path == path, "{progress:?}");
    for left in leaving.into_iter().chain([leaves(&c)]) {
        soon("all have left", left).await.expect("joined")?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_at_a_double_barrier_names_the_limit_and_how_many_came() -> Result<(), Error> {
    let (server, path) = (server(), "/barriers/few");
    let client = client_with(&server, TEN).await;
    let (a, b) = (client.double_barrier(path, 3, Some("a"))?, client.double_barrier(path, 3, Some("b"))?);
    let waiting = tokio::spawn(async move { a.enter(None).await });
    eventually("it has come", || crate::support::nodes_under(&server, path).len() == 1).await;
    // So long that it has come itself, and counted.
    let error = b.enter(Some(Duration::from_millis(1200))).await.expect_err("one is missing");
    let text = error.to_string();
    assert!(text.starts_with("not all parties came within 1.2s: 2 of 3 had come"), "{text}");
    client.close(None).await?;
    assert!(soon("it ends", waiting).await.expect("joined").is_err());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_at_a_queue_is_told_how_long() -> Result<(), Error> {
    let server = server();
    let client = client_with(&server, TEN).await;
    let queue = client.queue("/queues/quiet", QueueOptions::default().max_items(1))?;
    let told = told_by(|tell| queue.on_wait(tell));
    let taking = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await }
    });
    until_told(&told, 1).await;
    let progress = first(&told);
    assert_eq!((progress.path.as_str(), progress.ahead, &progress.holder), ("/queues/quiet", None, &None));
    assert!(progress.waited >= Duration::from_secs(1), "{progress:?}");
    queue.put(b"one").await?;
    soon("it comes", taking).await.expect("joined")?;
    // Claims wait, too, and who puts into a full one.
    let before = told.lock().expect("no panic").len();
    let claiming = tokio::spawn({
        let queue = queue.clone();
        async move { queue.claim().await }
    });
    until_told(&told, before + 1).await;
    queue.put(b"two").await?;
    let item = soon("it comes", claiming).await.expect("joined")?;
    let before = told.lock().expect("no panic").len();
    let putting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.put(b"three").await }
    });
    until_told(&told, before + 1).await;
    item.ack().await?;
    soon("there is room", putting).await.expect("joined")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_at_a_queue_names_the_limit() -> Result<(), Error> {
    let server = server();
    let client = client_with(&server, TEN).await;
    let (limit, path) = (Duration::from_millis(200), "/queues/timeout");
    let queue = client.queue(path, QueueOptions::default().max_items(1))?;
    let get = queue.get_timeout(limit).await.expect_err("it is empty").to_string();
    let claim = queue.claim_timeout(limit).await.expect_err("it is empty").to_string();
    queue.put(b"one").await?;
    let put = queue.put_timeout(b"two", limit).await.expect_err("it is full").to_string();
    for (text, what) in [(get, "no item to take came"), (claim, "no item to claim came"), (put, "not put")] {
        assert!(text.starts_with(&format!("{what} within 200ms; ")) && text.contains(path), "{text}");
    }
    Ok(())
}
