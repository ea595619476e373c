//! A path that somebody else has made so that everybody may delete below it: it is told once, or refused.

use std::sync::LazyLock;
use std::time::Duration;

use crate::support::told::{SAID, events, said_of};
use crate::support::{client, connected, eventually, lock_of, options, server};
use zkrecipes::{
    AclChoice, Auth, Client, CreateMode, ErrorKind, GroupOptions, PutOptions, QueueOptions, Result, Service,
    ServiceType,
};
use zkrecipes_embedded::{Fault, Server};

const TEN: Duration = Duration::from_secs(10);

fn ours() -> zkrecipes::ClientOptions {
    options(TEN).auth(Auth::new("digest", "ours:secret"))
}

/// Nobody has used it before: anybody could make it.
async fn squatted(server: &Server, path: &str) {
    let stranger = client(server).await;
    stranger.nodes().ensure(path).await.expect("made");
    stranger.close(None).await.expect("closed");
}

fn told(path: &str) -> usize {
    events(&said_of(path)).into_iter().filter(|event| *event == "open_parent").count()
}

/// Each recipe once, below that path.
async fn use_all(client: &Client, path: &str) -> Vec<(&'static str, Result<()>)> {
    let none = Default::default;
    let queue = client.queue(path, QueueOptions::default()).expect("valid");
    vec![
        ("lock", lock_of(client, path).acquire().await.map(drop)),
        ("put", queue.put(b"item").await.map(drop)),
        ("set", client.config(&format!("{path}/config")).expect("valid").set(b"x", None).await.map(drop)),
        ("add", client.counter(&format!("{path}/counter"), none()).expect("valid").add(1).await.map(drop)),
        ("create", client.barrier(&format!("{path}/barrier")).expect("valid").create().await),
        ("bind", client.names(path).expect("valid").bind("us", b"here", false).await.map(drop)),
        ("permit", client.semaphore(path, 2).expect("valid").acquire(1).await.map(drop)),
        ("join", client.group(path, GroupOptions::default()).expect("valid").join("me", b"").await.map(drop)),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_that_may_delete_are_told_of_once_per_path() {
    LazyLock::force(&SAID);
    let server = server();
    squatted(&server, "/told").await;
    let client = connected(&server, ours()).await;
    for _ in 0..3 {
        drop(lock_of(&client, "/told").acquire().await.expect("free"));
    }
    eventually("it is told", || told("/told") == 1).await;
    assert_eq!(server.count("getACL", "/told"), 1, "and asked for once");
    for (what, done) in use_all(&client, "/told").await {
        done.unwrap_or_else(|error| panic!("{what}: {error}"));
    }
    assert_eq!(told("/told"), 1);
}

/// Each way of using that path, by a client that has used it before.
#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_went_and_was_made_again_by_strangers_is_noticed() {
    LazyLock::force(&SAID);
    let server = server();
    let (client, strict) =
        (connected(&server, ours()).await, connected(&server, ours().refuse_open_parents(true)).await);
    let collector = connected(&server, ours()).await;
    for (what, path) in
        ["lock", "put", "enter", "create", "bind", "join"].map(|what| (what, format!("/gone-{what}")))
    {
        let parent = if what == "create" { format!("{path}/barrier") } else { path.clone() };
        let parent = parent.trim_end_matches("/barrier");
        let use_it = async |client: &Client| -> Result<()> {
            match what {
                "lock" => lock_of(client, &path).acquire().await?.release().await,
                "put" => client.queue(&path, QueueOptions::default())?.put(b"item").await.map(drop),
                "enter" => {
                    let barrier = client.double_barrier(&path, 1, None)?;
                    barrier.enter(None).await?;
                    barrier.leave(None).await
                }
                "create" => {
                    let barrier = client.barrier(&format!("{path}/barrier"))?;
                    barrier.create().await?;
                    barrier.remove().await
                }
                "bind" => {
                    let names = client.names(&path)?;
                    names.bind("us", b"here", false).await?;
                    names.unbind("us").await
                }
                _ => {
                    let group = client.group(&path, GroupOptions::default())?;
                    group.join(&client.session_id().to_string(), b"").await?;
                    group.leave().await
                }
            }
        };
        for client in [&client, &strict] {
            use_it(client).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        assert_eq!(told(parent), 0, "{what}");
        collector.nodes().delete_all(parent).await.expect("ours");
        squatted(&server, parent).await;
        use_it(&client).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        eventually("it is told", || told(parent) == 1).await;
        let refused = use_it(&strict).await.expect_err(what);
        assert_eq!(refused.kind(), ErrorKind::Denied, "{what}: {refused}");
        eventually("nothing of ours stays", || {
            !server.nodes().iter().any(|node| node.starts_with(&format!("{parent}/_c_")))
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_strangers_make_again_between_the_look_and_the_use_is_noticed() {
    LazyLock::force(&SAID);
    let server = server();
    let owner = connected(&server, ours()).await;
    for refuses in [false, true] {
        let path = format!("/swapped-{refuses}");
        owner.nodes().create(&path, b"", CreateMode::Persistent).await.expect("free");
        let client = connected(&server, ours().refuse_open_parents(refuses)).await;
        let late = Fault::delay_request("create*", TEN / 4).path(&format!("{path}/**"));
        let late = server.inject(late.session(client.session_id()));
        let acquiring = tokio::spawn(lock_of(&client, &path).acquire());
        eventually("it has looked, and queues", || server.fault_fired(late)).await;
        assert_eq!(told(&path), 0);
        owner.nodes().delete(&path, None).await.expect("nobody has queued yet");
        squatted(&server, &path).await;
        let acquired = acquiring.await.expect("joined");
        if refuses {
            let error = acquired.expect_err("not ours any more");
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        } else {
            drop(acquired.expect("free"));
            eventually("it is told", || told(&path) == 1).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_ours_or_meant_for_everybody_is_not_asked_about() {
    LazyLock::force(&SAID);
    let server = server();
    squatted(&server, "/everybodys").await;
    let nobody = client(&server).await;
    let open = connected(&server, ours().acl(AclChoice::Open)).await;
    for client in [&nobody, &open] {
        drop(lock_of(client, "/everybodys").acquire().await.expect("free"));
    }
    let client = connected(&server, ours().refuse_open_parents(true)).await;
    drop(lock_of(&client, "/new/lock").acquire().await.expect("free"));
    let queue = client.queue("/new/queue", QueueOptions::default()).expect("valid");
    queue.put(b"item").await.expect("put");
    let asked = server.count("getACL", "/everybodys");
    assert!(asked <= 2, "{asked} times, where each asks once at most whether it may delete there");
    for path in ["/new/lock", "/new/queue"] {
        assert!(server.count("getACL", path) <= 1, "{path} was not there when it was asked about");
    }
    assert_eq!((told("/everybodys"), told("/new/lock")), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_that_may_delete_are_refused_where_that_is_asked_for() {
    let server = server();
    squatted(&server, "/squatted").await;
    let client = connected(&server, ours().refuse_open_parents(true)).await;
    let before = server.nodes();
    for (what, done) in use_all(&client, "/squatted").await {
        let error = done.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Denied, "{what}: {error}");
        assert!(error.to_string().contains("refuse_open_parents"), "{what}: {error}");
    }
    let made: Vec<_> = server.nodes().into_iter().filter(|node| !before.contains(node)).collect();
    assert_eq!(made, Vec::<String>::new(), "nothing was made there");
    // Whoever made it puts it right: it is taken from then on.
    let owner = connected(&server, ours()).await;
    owner.nodes().delete("/squatted", None).await.expect("everybody may");
    owner.nodes().create("/squatted", b"", CreateMode::Persistent).await.expect("free");
    drop(lock_of(&client, "/squatted").acquire().await.expect("ours now"));
}

/// What stands beside a queue.
#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_stands_already_is_asked_about_once() {
    LazyLock::force(&SAID);
    let server = server();
    let (stranger, told_of) = (client(&server).await, connected(&server, ours()).await);
    let strict = connected(&server, ours().refuse_open_parents(true)).await;
    let counter_of =
        |client: &Client| client.counter("/standing/counter", Default::default()).expect("valid");
    let latch_of = |client: &Client| client.latch("/standing/latch", 5).expect("valid");
    counter_of(&stranger).add(1).await.expect("counted");
    latch_of(&stranger).count_down(1).await.expect("counted");
    for _ in 0..3 {
        counter_of(&told_of).add(1).await.expect("counted");
        latch_of(&told_of).count_down(1).await.expect("counted");
    }
    eventually("it is told", || told("/standing") == 1).await;
    assert_eq!(server.count("getACL", "/standing"), 1, "and asked for once");
    assert_eq!(counter_of(&strict).add(1).await.unwrap_err().kind(), ErrorKind::Denied);
    assert_eq!(latch_of(&strict).count_down(1).await.unwrap_err().kind(), ErrorKind::Denied);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_uses_a_queue_asks_who_may_delete_its_marks_and_its_dead_letters() {
    let server = server();
    for (folder, what) in [("marks", "put"), ("bound", "put"), ("dead", "nack")] {
        let path = format!("/beside-{folder}");
        let client = connected(&server, ours().refuse_open_parents(true)).await;
        let mut options = QueueOptions::default().max_attempts(1);
        options.max_items = (folder == "bound").then_some(3);
        let queue = client.queue(&path, options).expect("valid");
        let beside = match folder {
            "marks" => format!("{path}-__queue__/marks"),
            "bound" => format!("{path}-__queue__"),
            _ => queue.dead().path().to_owned(),
        };
        squatted(&server, &beside).await;
        let mut done = queue.put(b"item").await;
        if what == "nack" {
            done.expect("put");
            done = queue.claim().await.expect("there is one").nack().await;
        }
        let error = done.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Denied, "{what}: {error}");
        assert!(error.to_string().contains("refuse_open_parents"), "{what}: {error}");
    }
}

/// Whoever takes an item trusts a mark, too, also without having put anything.
#[tokio::test(flavor = "multi_thread")]
async fn who_only_takes_from_a_queue_asks_who_may_delete_its_marks() {
    let server = server();
    let path = "/taken-from";
    squatted_below(&server, "/taken-from-__queue__", "marks").await;
    let owner = connected(&server, ours()).await;
    let queue_of =
        |client: &Client| client.queue(path, QueueOptions::default().max_attempts(1)).expect("valid");
    queue_of(&owner).put_many(&["dead", "1", "2", "3"]).await.expect("put");
    queue_of(&owner).claim().await.expect("there is one").nack().await.expect("buried");
    let letters = queue_of(&owner).dead().items().await.expect("read");
    let dead = letters[0].id.clone();
    for what in ["get", "ack", "nack", "replay", "purge"] {
        let client = connected(&server, ours().refuse_open_parents(true)).await;
        let queue = queue_of(&client);
        let done = match what {
            "get" => queue.get().await.map(drop),
            "ack" => queue.claim().await.expect("there is one").ack().await,
            "nack" => queue.claim().await.expect("there is one").nack().await,
            "replay" => queue.dead().replay_one(&dead).await.map(drop),
            _ => queue.dead().purge(Duration::ZERO).await.map(drop),
        };
        let error = done.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::Denied, "{what}: {error}");
        assert!(error.to_string().contains("refuse_open_parents"), "{what}: {error}");
    }
}

/// The folder of what stands beside a queue: who may delete there can put a folder of their own in the place of one that is empty.
#[tokio::test(flavor = "multi_thread")]
async fn the_folder_above_a_queues_own_nodes_is_told_of_once_or_refused() {
    LazyLock::force(&SAID);
    let server = server();
    let collector = connected(&server, ours()).await;
    let use_it = async |client: &Client, path: &str, what: &str| -> Result<()> {
        let queue = client.queue(path, QueueOptions::default())?;
        match what {
            "put" => queue.put(b"item").await,
            "key" => queue.put_with(b"item", PutOptions::default().key("key")).await,
            "get" => queue.get().await.map(drop),
            "ack" => queue.claim().await?.ack().await,
            _ => queue.claim().await?.nack().await,
        }
    };
    for what in ["put", "key", "get", "ack", "nack"] {
        let path = format!("/sibling-{what}");
        let own = format!("{path}-__queue__");
        let producer = connected(&server, ours()).await;
        let queue = producer.queue(&path, QueueOptions::default()).expect("valid");
        queue.put_many(&["1", "2", "3"]).await.expect("put");
        producer.close(None).await.expect("closed");
        collector.nodes().delete_all(&own).await.expect("ours");
        squatted(&server, &own).await;
        let before = server.nodes();
        let strict = connected(&server, ours().refuse_open_parents(true)).await;
        let error = use_it(&strict, &path, what).await.expect_err(what);
        assert_eq!((error.kind(), error.path()), (ErrorKind::Denied, Some(&*own)), "{what}: {error}");
        assert!(error.to_string().contains("refuse_open_parents"), "{what}: {error}");
        assert_eq!(server.nodes(), before, "{what} made nothing there, and took nothing");
        let before = server.count("getACL", &own);
        let client = connected(&server, ours()).await;
        for what in [what, "put", "key", "get", "nack", "ack"] {
            use_it(&client, &path, what).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        eventually("it is told", || told(&own) == 1).await;
        assert_eq!(server.count("getACL", &own) - before, 1, "{what} asks once");
    }
}

/// Where the claims are another folder by now, or missing, what is above them may be another one, too.
#[tokio::test(flavor = "multi_thread")]
async fn the_folder_above_the_claims_that_went_with_them_is_noticed() {
    let server = server();
    let owner = connected(&server, ours()).await;
    for claims in ["made-again", "missing"] {
        let path = format!("/claims-{claims}");
        let own = format!("{path}-__queue__");
        let strict = connected(&server, ours().refuse_open_parents(true)).await;
        let [queue, others] =
            [&strict, &owner].map(|client| client.queue(&path, QueueOptions::default()).expect("valid"));
        queue.put(b"first").await.expect("put");
        queue.claim().await.expect("there is one").ack().await.expect("ours");
        owner.nodes().delete_all(&own).await.expect("ours");
        squatted(&server, &own).await;
        if claims == "made-again" {
            let made = owner.nodes().create(&format!("{own}/claims"), b"", CreateMode::Persistent).await;
            made.expect("everybody may");
        }
        others.put(b"second").await.expect("put");
        let error = queue.claim().await.expect_err(claims);
        assert_eq!((error.kind(), error.path()), (ErrorKind::Denied, Some(&*own)), "{claims}: {error}");
        assert!(queue.try_claim().await.is_err(), "{claims}: nothing was claimed");
    }
}

/// A path of ours, and a folder below it that everybody may delete from.
async fn squatted_below(server: &Server, path: &str, folder: &str) {
    let owner = connected(server, ours()).await;
    owner.nodes().ensure(path).await.expect("made");
    let careless = connected(server, ours().acl(AclChoice::Open)).await;
    careless.nodes().ensure(&format!("{path}/{folder}")).await.expect("made");
}

/// Those that keep their nodes further below.
async fn use_root(client: &Client, path: &str, what: &str) -> Result<()> {
    let commits = client.two_phase_commit(path, Default::default())?;
    let register = async |service: Service| {
        client.discovery(path)?.register(service.id("one")).await?.unregister().await
    };
    let queue = |options: QueueOptions| client.queue(path, options);
    match what {
        "join" => {
            commits.join("stock").await?;
            commits.leave().await
        }
        "begin" => {
            let minute = Duration::from_secs(60);
            let id = client.session_id().to_string();
            commits.begin(&id, &["stock"], b"", minute).await.map(drop)
        }
        "recover" => commits.recover().await.map(drop),
        "partitioner" => {
            let partitioner = client.partitioner(path, 1, Default::default())?;
            drop(partitioner.next(Some(TEN)).await?);
            partitioner.leave().await
        }
        "dynamic" => register(Service::new("web", "h")).await,
        "sequential" => register(Service::new("web", "h").service_type(ServiceType::DynamicSequential)).await,
        "static" => register(Service::new("web", "h").service_type(ServiceType::Static)).await,
        _ => queue(QueueOptions::default().shards(2))?.put(b"item").await.map(drop),
    }
}

const WITH_FOLDERS: [&str; 8] =
    ["join", "begin", "recover", "partitioner", "dynamic", "sequential", "static", "shards"];

#[tokio::test(flavor = "multi_thread")]
async fn the_root_of_what_keeps_its_nodes_in_folders_is_told_of_once_or_refused() {
    LazyLock::force(&SAID);
    let server = server();
    for what in WITH_FOLDERS {
        let path = format!("/root-{what}");
        squatted(&server, &path).await;
        let before = server.nodes();
        let strict = connected(&server, ours().refuse_open_parents(true)).await;
        let error = use_root(&strict, &path, what).await.expect_err(what);
        assert_eq!((error.kind(), error.path()), (ErrorKind::Denied, Some(&*path)), "{what}: {error}");
        assert!(error.to_string().contains("refuse_open_parents"), "{what}: {error}");
        let made: Vec<_> = server.nodes().into_iter().filter(|node| !before.contains(node)).collect();
        assert_eq!(made, Vec::<String>::new(), "{what} made nothing there");
        let before = server.count("getACL", &path);
        let client = connected(&server, ours()).await;
        for _ in 0..2 {
            use_root(&client, &path, what)
                .await
                .or_else(|error| match error.kind() {
                    ErrorKind::Exists => Ok(()),
                    _ => Err(error),
                })
                .unwrap_or_else(|error| panic!("{what}: {error}"));
        }
        eventually("it is told", || told(&path) == 1).await;
        assert_eq!(server.count("getACL", &path) - before, 1, "{what} asks once");
    }
}

/// Where what is below it has gone, the root may have gone with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_root_that_went_and_was_made_again_by_strangers_is_noticed() {
    let server = server();
    let collector = connected(&server, ours()).await;
    for what in ["join", "dynamic", "partitioner"] {
        let path = format!("/root-again-{what}");
        let strict = connected(&server, ours().refuse_open_parents(true)).await;
        use_root(&strict, &path, what).await.unwrap_or_else(|error| panic!("{what}: {error}"));
        collector.nodes().delete_all(&path).await.expect("ours");
        squatted(&server, &path).await;
        let error = use_root(&strict, &path, what).await.expect_err(what);
        assert_eq!((error.kind(), error.path()), (ErrorKind::Denied, Some(&*path)), "{what}: {error}");
    }
}

/// What is below the path of a two-phase commit and not its own.
#[tokio::test(flavor = "multi_thread")]
async fn who_takes_part_in_a_transaction_asks_who_may_take_that_away() {
    let server = server();
    for (folder, what) in [
        ("sites", "join"),
        ("inbox/stock", "join"),
        ("coordinators", "begin"),
        ("transactions", "begin"),
        ("inbox/stock", "begin"),
        ("outcomes", "begin"),
        ("outcomes", "recover"),
    ] {
        let path = format!("/{what}-{}", folder.replace('/', "-"));
        let begin = async |client: &Client| {
            let commits = client.two_phase_commit(&path, Default::default()).expect("valid");
            commits.begin("order", &["stock"], b"", Duration::from_secs(60)).await.map(drop)
        };
        squatted_below(&server, &path, folder).await;
        if what == "recover" {
            let died = connected(&server, ours()).await;
            begin(&died).await.expect("begun");
            server.expire(died.session_id());
        }
        let client = connected(&server, ours().refuse_open_parents(true)).await;
        let commits = client.two_phase_commit(&path, Default::default()).expect("valid");
        let done = match what {
            "join" => commits.join("stock").await.map(drop),
            "begin" => begin(&client).await,
            _ => commits.recover().await.map(drop),
        };
        let error = done.expect_err(folder);
        assert_eq!(error.kind(), ErrorKind::Denied, "{what}, {folder}: {error}");
        assert!(error.to_string().contains("refuse_open_parents"), "{what}, {folder}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_begin_asks_once_however_often_it_tries_and_who_takes_nothing_over_does_not() {
    let server = server();
    let client = connected(&server, ours()).await;
    let commits = client.two_phase_commit("/asks", Default::default()).expect("valid");
    let begin = async |id: &str| commits.begin(id, &["stock"], b"", Duration::from_secs(60)).await;
    drop(begin("first").await.expect("begun"));
    let asked = || server.count("getACL", "/asks/**");
    let before = asked();
    let lost = server.inject(Fault::drop_before("multi").path("/asks/transactions/second"));
    drop(begin("second").await.expect("begun"));
    assert!(server.fault_fired(lost));
    assert_eq!(asked() - before, 3, "the transactions, the outcomes, one inbox");
    assert_eq!(commits.recover().await.expect("asked").len(), 2);
    assert_eq!(asked() - before, 3, "they are its own");
}
