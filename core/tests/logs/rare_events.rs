//! Events that are very rare. Each is brought about, and what it says is read.

use std::cmp::Reverse;
use std::future::Future;
use std::pin::pin;
use std::sync::LazyLock;
use std::time::Duration;

use crate::support::commits::{MINUTE, outcome_of};
use crate::support::told::{SAID, number, said, said_of, text};
use crate::support::{
    SOON, client_with, eventually, is_run_elsewhere, lock_of, nodes_under, options, server, soon,
};
use zkrecipes::drive;
use zkrecipes::drive::log::{Level, Record};
use zkrecipes::{
    AclChoice, AclEntry, Auth, Client, CommitMode, CreateMode, ElectionOptions, Error, ErrorKind,
    GroupOptions, Outcome, QueueOptions,
};
use zkrecipes_embedded::{Fault, Proxy, Server};

const TEN: Duration = Duration::from_secs(10);
const REFUSED: &str = "access list";

/// Whose nodes its owner may do everything with, and the others only what is said here.
async fn strict(server: &Server, others: &str) -> Client {
    let mut list = vec![AclEntry::new("auth", "", "rwcda")];
    list.extend((!others.is_empty()).then(|| AclEntry::new("world", "anyone", others)));
    let options = options(TEN).auth(Auth::new("digest", "owner:secret")).acl(AclChoice::List(list));
    Client::connect(&server.connect_string(), options).await.expect("the server answers")
}

/// A client whose nodes nobody may do more with than is said here, itself included.
async fn bound(server: &Server, permissions: &str) -> Client {
    let list = vec![AclEntry::new("world", "anyone", permissions)];
    let options = options(TEN).acl(AclChoice::List(list));
    Client::connect(&server.connect_string(), options).await.expect("the server answers")
}

/// Drops `future` as soon as `is_so`, with whatever it is at then.
async fn dropped_when<T>(is_so: impl FnMut() -> bool, future: impl Future<Output = T>) {
    let mut future = pin!(future);
    tokio::select! {
        biased;
        () = eventually("the moment to drop it", is_so) => {}
        _ = &mut future => panic!("it was over before"),
    }
}

/// The first record of `event` about `what`, which has these fields and no others.
async fn told(event: &str, what: &str, fields: &[&str]) -> Record {
    let of_it = || said_of(what).into_iter().find(|record| record.event == event);
    eventually(event, || of_it().is_some()).await;
    let record = of_it().expect("it is told");
    let names: Vec<_> = record.fields.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, fields, "{record:?}");
    assert!(!record.message.is_empty(), "{record:?}");
    record
}

#[tokio::test(flavor = "multi_thread")]
async fn a_membership_that_cannot_be_made_again_is_told_once() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let (server, path) = (server(), "/groups/astray");
    let proxy = Proxy::start(&server.connect_string()).expect("a free port");
    let (owner, other) = (strict(&server, "r").await, client_with(&server, TEN).await);
    other.nodes().ensure("/groups").await?;
    let member = Client::connect(&proxy.connect_string(), options(TEN)).await?;
    let group = member.group(path, GroupOptions::default())?;
    group.join("worker", b"idle").await?;
    assert!(said_of(path).is_empty(), "all is well: {:?}", said_of(path));

    // While it is out of touch its session ends, and its path becomes somebody else's.
    proxy.pause();
    server.expire(member.session_id());
    other.nodes().delete_all(path).await?;
    owner.nodes().create(path, b"", CreateMode::Persistent).await?;
    proxy.resume();
    let record = told("kept_astray", path, &["path", "error"]).await;
    assert_eq!((record.level, text(&record, "path")), (Level::Warn, format!("{path}/worker")));
    assert!(text(&record, "error").contains(REFUSED), "{record:?}");
    // It goes on trying, and says nothing more.
    let attempts = || server.log().iter().filter(|entry| entry.path == format!("{path}/worker")).count();
    let before = attempts();
    eventually("it has tried again", || attempts() >= before + 2).await;
    assert_eq!(said_of(path).len(), 1);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_is_left_out_is_told() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let (server, path) = (server(), "/queues/left-out");
    let (owner, other) = (strict(&server, "").await, client_with(&server, TEN).await);
    other.nodes().ensure(path).await?;
    owner.nodes().create(&format!("{path}/1"), b"", CreateMode::Persistent).await?;
    let queue = other.queue(path, QueueOptions::default().shards(3))?;
    let error = queue.get_timeout(Duration::ZERO).await.expect_err("nothing that we may see");
    assert_eq!(error.kind(), ErrorKind::Denied);
    let record = told("shard_left_out", path, &["path", "error"]).await;
    assert_eq!((record.level, text(&record, "path")), (Level::Warn, format!("{path}/1")));
    assert!(text(&record, "error").contains(REFUSED), "{record:?}");
    Ok(())
}

/// Somebody takes from a queue of another one's, and goes when the removal has been asked for and not answered.
async fn gone_while_taking(server: &Server, path: &str, others: &str) -> Result<Client, Error> {
    let (owner, taker) = (strict(server, others).await, client_with(server, TEN).await);
    // What stands beside the items is everybody's.
    taker.nodes().ensure(&format!("{path}-__queue__/marks")).await?;
    owner.nodes().create(path, b"", CreateMode::Persistent).await?;
    owner.queue(path, QueueOptions::default())?.put(b"one").await?;
    let removal = Fault::delay_reply("delete|multi", Duration::from_millis(300)).path(&format!("{path}/*"));
    let removal = server.inject(removal.session(taker.session_id()));
    let queue = taker.queue(path, QueueOptions::default())?;
    dropped_when(|| server.fault_fired(removal), queue.get()).await;
    Ok(taker)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_cannot_be_put_back_is_told() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let (server, path) = (server(), "/queues/not-put-back");
    // They may take, and not put.
    let taker = gone_while_taking(&server, path, "rd").await?;
    let record = told("item_not_put_back", path, &["path", "error"]).await;
    assert_eq!((record.level, text(&record, "path")), (Level::Error, path.to_owned()));
    assert!(text(&record, "error").contains(REFUSED), "{record:?}");
    assert!(nodes_under(&server, path).is_empty(), "it is not there");
    taker.close(None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_that_fails_and_that_nobody_waits_for_is_told() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let (server, path) = (server(), "/queues/unheard");
    // They may look, and not take.
    let taker = gone_while_taking(&server, path, "r").await?;
    let record = told("removal_unheard", path, &["path", "error"]).await;
    assert_eq!((record.level, text(&record, "path")), (Level::Warn, path.to_owned()));
    assert!(text(&record, "error").contains(REFUSED), "{record:?}");
    assert_eq!(nodes_under(&server, path).len(), 1, "it is still there");
    taker.close(None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_somebody_has_before_it_is_taken_back_is_told() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let (server, path) = (server(), "/queues/not-taken-back");
    let (producer, consumer) = (client_with(&server, TEN).await, client_with(&server, TEN).await);
    let put = producer.queue(path, QueueOptions::default())?;
    let take = consumer.queue(path, QueueOptions::default())?;
    // What stands beside the items, and the mark, are there then.
    put.put(b"one").await?;
    take.get().await?;
    let lost = server.inject(Fault::drop_after("multi").session(producer.session_id()));
    server.inject(Fault::refuse_connections(1).forever());
    dropped_when(|| server.fault_fired(lost), put.put(b"two")).await;
    let item = soon("the claim", take.claim()).await?;
    server.clear_faults();
    let record = told("put_not_taken_back", path, &["path", "items"]).await;
    assert_eq!((record.level, number(&record, "items")), (Level::Warn, 1));
    item.ack().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_is_given_up_and_cannot_be_undone_is_told() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let (server, path) = (server(), "/commits/left");
    client_with(&server, TEN).await.nodes().ensure("/commits").await?;
    // What it makes it may not delete.
    let coordinator = bound(&server, "rwc").await;
    let commits = coordinator.two_phase_commit(path, CommitMode::Coordinator)?;
    let check = |record: &Record, id: &str| {
        assert_eq!((record.level, text(record, "id")), (Level::Warn, id.to_owned()));
        assert!(text(record, "error").contains(REFUSED), "{record:?}");
    };
    // Given up on its way to who began it, as a language's call is that was cancelled.
    let begun = soon("begin", drive::begin(&commits, "on-its-way", &["shop"], b"", MINUTE)).await?;
    drop(begun);
    check(&told("transaction_left", "on-its-way", &["id", "error"]).await, "on-its-way");

    // Given up while it is begun.
    let begin = Fault::delay_reply("multi", Duration::from_millis(300)).session(coordinator.session_id());
    let begin = server.inject(begin.path(&format!("{path}/transactions/half-way")));
    dropped_when(|| server.fault_fired(begin), commits.begin("half-way", &["shop"], b"", MINUTE)).await;
    check(&told("transaction_left", "half-way", &["id", "error"]).await, "half-way");
    assert_eq!(outcome_of(&commits, "half-way").await, Some(None), "left, and undecided");
    coordinator.close(None).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_is_over_and_cannot_be_tidied_is_told() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let (server, path) = (server(), "/commits/untidy");
    let (owner, shop) = (strict(&server, "rwcd").await, client_with(&server, TEN).await);
    shop.nodes().ensure("/commits").await?;
    // The sites decide, and only they may delete what the coordinator makes.
    let site = AclEntry::new("digest", "owner:Vj++wdU3sMAbt+g9TyKj1BT+usI=", "rwcda");
    let list = AclChoice::List(vec![site, AclEntry::new("world", "anyone", "rwc")]);
    let coordinator = Client::connect(&server.connect_string(), options(TEN).acl(list)).await?;
    let (commits, sites) = (
        coordinator.two_phase_commit(path, CommitMode::Peer)?,
        owner.two_phase_commit(path, CommitMode::Peer)?,
    );
    sites.join("shop").await?;
    let transaction = soon("begin", commits.begin("over", &["shop"], b"", MINUTE)).await?;
    let proposal = soon("what is next", sites.next(None)).await?;
    proposal.vote_commit().await?;
    assert_eq!(soon("the outcome", proposal.outcome(None)).await?, Outcome::Commit);
    assert_eq!(soon("the outcome", transaction.outcome(None)).await?, Outcome::Commit);
    let record = told("transaction_untidy", path, &["error"]).await;
    assert_eq!(record.level, Level::Debug);
    let error = text(&record, "error");
    assert!(error.contains(REFUSED) && error.contains("/over/coordinator-"), "{record:?}");

    // A site that comes would tidy up, and may not even look.
    let hidden = "/commits/hidden";
    shop.nodes().ensure(hidden).await?;
    let hiding = strict(&server, "wcd").await;
    hiding.nodes().create(&format!("{hidden}/transactions"), b"", CreateMode::Persistent).await?;
    shop.two_phase_commit(hidden, CommitMode::Coordinator)?.join("shop").await?;
    let record = told("transaction_untidy", hidden, &["error"]).await;
    assert!(text(&record, "error").contains(REFUSED), "{record:?}");
    Ok(())
}

/// A process of its own: the environment is everybody's.
#[tokio::test(flavor = "multi_thread")]
async fn an_embedded_server_that_the_environment_asks_for_is_told() -> Result<(), Error> {
    let test = "rare_events::an_embedded_server_that_the_environment_asks_for_is_told";
    if is_run_elsewhere(test, |process| {
        process.env("ZKRECIPES_HOSTS", "embedded:").env_remove("ZKRECIPES_FORBID_EMBEDDED");
    }) {
        return Ok(());
    }
    LazyLock::force(&SAID);
    Client::connect("embedded:", options(TEN)).await?.close(None).await?;
    assert!(said("embedded_from_environment").is_empty(), "the caller named it");
    Client::connect("", options(TEN)).await?.close(None).await?;
    eventually("it is told", || !said("embedded_from_environment").is_empty()).await;
    let record = &said("embedded_from_environment")[0];
    assert!(record.level == Level::Error && record.fields.is_empty(), "{record:?}");
    assert!(record.message.contains("ZKRECIPES_FORBID_EMBEDDED"), "{record:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_while_a_loss_is_told_is_told_itself() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let server = server();
    let client = client_with(&server, TEN).await;
    client.deliver_through(|_, _| panic!("a broken sink"));
    let held = lock_of(&client, "/locks/broken-sink").acquire().await?;
    held.on_lost(|_| {});
    assert!(said("loss_panicked").is_empty());
    client.close(Some(SOON)).await?;
    eventually("it is told", || !said("loss_panicked").is_empty()).await;
    let record = &said("loss_panicked")[0];
    assert!(record.level == Level::Error && record.fields.is_empty(), "{record:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_has_led_outlasts_a_refusal() {
    let (server, path) = (server(), "/elections/denied");
    let (a, owner) = (client_with(&server, TEN).await, strict(&server, "r").await);
    let election = a.election(path, b"", ElectionOptions::default()).expect("valid");
    let mut terms = drive::terms(&election).expect("open");
    let first = terms.next().await.expect("free").expect("a term");
    LazyLock::force(&SAID);
    a.nodes().delete_all(path).await.expect("deleted");
    owner.nodes().create(path, b"", CreateMode::Persistent).await.expect("created");
    drop(first);
    let next = tokio::spawn(async move { terms.next().await });
    told("campaign_denied", path, &["path", "error"]).await;
    assert!(!next.is_finished());
    owner.nodes().delete(path, None).await.expect("deleted");
    let again = soon("the next term", next).await.expect("joined").expect("it may again").expect("a term");
    again.release().await.expect("resigned");
}

/// One that has stood in line knows as well that it was granted before.
#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_has_stood_behind_another_outlasts_a_refusal() {
    let (server, path) = (server(), "/elections/denied-standby");
    let (a, b) = (client_with(&server, TEN).await, client_with(&server, TEN).await);
    let owner = strict(&server, "r").await;
    let of = |client: &Client| client.election(path, b"", ElectionOptions::default()).expect("valid");
    let leading = of(&a).campaign().await.expect("free");
    let mut terms = drive::terms(&of(&b)).expect("open");
    let next = tokio::spawn(async move { terms.next().await });
    // Not only at the server: who has not seen that it stands is refused like one who begins.
    eventually("it stands", || b.metrics().queue_depth == 1).await;
    LazyLock::force(&SAID);
    let change = owner.nodes().transaction();
    // The last in line first: who hears first that nobody is ahead any more leads, until it hears of its own node.
    let mut nodes = nodes_under(&server, path);
    nodes.sort_by_key(|node| Reverse(node[node.len() - 10..].to_owned()));
    for node in nodes {
        change.delete(&node, None).expect("a part");
    }
    change.delete(path, None).expect("a part");
    change.create(path, b"", CreateMode::Persistent).expect("a part");
    change.commit().await.expect("taken away");
    told("campaign_denied", path, &["path", "error"]).await;
    assert!(!next.is_finished());
    drop(leading);
    owner.nodes().delete(path, None).await.expect("deleted");
    let term = soon("the next term", next).await.expect("joined").expect("it may again").expect("a term");
    term.release().await.expect("resigned");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_collector_finds_held_is_told() {
    let server = server();
    let client = client_with(&server, TEN).await;
    LazyLock::force(&SAID);
    let held = lock_of(&client, "/locks/collected").acquire().await.expect("free");
    drive::tell_collected(&held);
    let record = told("collected", "/locks/collected", &["path", "node", "token"]).await;
    assert_eq!(record.level, Level::Warn);
    held.release().await.expect("released");
    drive::tell_collected(&held);
    drive::log::flush(SOON);
    assert_eq!(said_of("/locks/collected").iter().filter(|record| record.event == "collected").count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn that_it_stays_held_is_told_to_those_alone_who_hold() {
    let server = server();
    LazyLock::force(&SAID);
    for holds in [false, true] {
        let client = client_with(&server, TEN).await;
        let held = match holds {
            true => Some(lock_of(&client, "/locks/suspended").acquire().await.expect("free")),
            false => None,
        };
        server.drop_connections();
        let session = format!("{:#x}", client.session_id());
        let of_it = || said_of(&session).into_iter().find(|record| record.event == "suspended");
        eventually("it is told", || of_it().is_some()).await;
        let record = of_it().expect("it is told");
        assert_eq!(number(&record, "lease_ms") > 0, holds, "{record:?}");
        // Also of a connection that is young.
        assert_eq!(text(&record, "server"), server.connect_string(), "{record:?}");
        assert_eq!(record.message.contains("what is held stays held"), holds, "{record:?}");
        drop(held);
        client.close(Some(SOON)).await.expect("closed");
    }
}
