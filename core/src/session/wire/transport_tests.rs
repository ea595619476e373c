//! Both transports get the same answers to the same calls: our own client, and a session of the crate zookeeper-client.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use zkrecipes_embedded::Server;

use super::guest::Guest;
use super::own::Own;
use super::*;
use crate::options::Auth;

const OPEN: AclChoice = AclChoice::Open;
const PERSISTENT: CreateMode = CreateMode::Persistent;
const SOON: Duration = Duration::from_secs(10);

/// What was answered, in words.
#[derive(Default)]
struct Answers(Vec<String>);

impl Answers {
    async fn of<T: Debug>(&mut self, what: &str, flight: Flight<T>) {
        let answer = tokio::time::timeout(SOON, flight).await.expect(what);
        self.note(what, &answer);
    }

    fn note(&mut self, what: &str, answer: &dyn Debug) {
        self.0.push(format!("{what}: {}", timeless(&format!("{answer:?}"))));
    }

    async fn event(&mut self, what: &str, watch: Watch) {
        let event = tokio::time::timeout(SOON, watch).await.expect(what);
        self.note(what, &event);
    }
}

/// Without what no two servers have in common: moments, and the numbers of sessions and transactions. The crate refuses some
/// requests by itself.
fn timeless(text: &str) -> String {
    let mut told = text.to_owned();
    for field in ["ctime: ", "mtime: ", "ephemeral_owner: ", "czxid: ", "mzxid: ", "pzxid: "] {
        told = told.split(field).map(|part| part.trim_start_matches(|c: char| c.is_ascii_digit())).collect();
    }
    told
}

fn create(path: &str, mode: CreateMode) -> Write {
    Write::Create { path: path.to_owned(), data: b"x".to_vec(), mode, acl: None }
}

fn delete(path: &str) -> Write {
    Write::Delete { path: path.to_owned(), version: None }
}

async fn nodes(wire: &dyn Wire, said: &mut Answers) {
    said.of("chroot", wire.create_chroot(&OPEN)).await;
    said.of("chroot, again", wire.create_chroot(&OPEN)).await;
    let modes = [
        PERSISTENT,
        CreateMode::Ephemeral,
        CreateMode::PersistentSequential,
        CreateMode::EphemeralSequential,
        CreateMode::Container,
        CreateMode::PersistentTtl(SOON),
        CreateMode::PersistentSequentialTtl(SOON),
    ];
    for mode in modes {
        let path = format!("/{mode:?}").replace(['(', ')'], "");
        for _ in 0..2 {
            said.of(&format!("create {mode:?}"), wire.create(&path, b"data", mode, &OPEN)).await;
        }
    }
    for (what, path) in
        [("no parent", "/no/where"), ("below one that goes", "/Ephemeral/x"), ("a child", "/Persistent/x")]
    {
        said.of(what, wire.create(path, b"", PERSISTENT, &OPEN)).await;
    }
    let lists = [
        AclChoice::Creator,
        AclChoice::List(vec![
            AclEntry::new("world", "anyone", "r"),
            AclEntry::new("digest", "me:hash", "rwcda"),
        ]),
        AclChoice::List(vec![AclEntry::new("nonsense", "x", "r")]),
        AclChoice::List(Vec::new()),
    ];
    for (number, list) in lists.iter().enumerate() {
        let path = format!("/list-{number}");
        said.of(&path, wire.create(&path, b"", PERSISTENT, list)).await;
        said.of("its list", wire.access_list(&path)).await;
        said.of("is it open", wire.is_open_to_deletion(&path)).await;
    }
    said.of("open to deletion", wire.is_open_to_deletion("/Persistent")).await;
    for path in ["/Persistent", "/list-1", "/none", "/", "/Ephemeral"] {
        said.of("exists", wire.exists(path)).await;
        said.of("get", wire.get_data(path)).await;
        said.of("children", wire.children(path)).await;
        said.of("with metadata", wire.children_and_stat(path)).await;
        said.of("sync", wire.sync(path)).await;
        for version in [Some(7), Some(0), None] {
            said.of("set", wire.set_data(path, b"new", version)).await;
        }
    }
    let several = ["/Persistent", "/none", "/Container"].map(str::to_owned);
    said.of("several", wire.get_each(&several)).await;
    said.of("none", wire.get_each(&[])).await;
    said.of("own", wire.own_ephemerals("/")).await;
    said.of("own below", wire.own_ephemerals("/Persistent")).await;
    for (path, version) in
        [("/Persistent", None), ("/Persistent/x", Some(5)), ("/Persistent/x", Some(0)), ("/none", None)]
    {
        said.of("delete", wire.delete(path, version)).await;
    }
    said.of("too much", wire.set_data("/Persistent", &vec![0; 2 << 20], None)).await;
}

async fn transactions(wire: &dyn Wire, said: &mut Answers) {
    let set = |version| Write::Set { path: "/t".to_owned(), data: b"y".to_vec(), version };
    let check = |version| Write::Check { path: "/t".to_owned(), version };
    let all = [
        vec![
            create("/t", PERSISTENT),
            set(Some(0)),
            check(Some(1)),
            create("/t/n-", CreateMode::EphemeralSequential),
        ],
        vec![set(None), check(Some(9)), create("/u", PERSISTENT)],
        vec![create("/u", PERSISTENT), delete("/none")],
        vec![delete("/t")],
        vec![
            create("/u", CreateMode::Container),
            delete("/u"),
            create("/v", CreateMode::PersistentTtl(SOON)),
        ],
        vec![create("/no/where", PERSISTENT)],
        vec![],
    ];
    for parts in all {
        said.of(&format!("{parts:?}"), wire.multi(&parts, &OPEN)).await;
    }
}

async fn watches(wire: &dyn Wire, said: &mut Answers) {
    let done = |_: Result<Created, WireError>| ();
    let watched = wire.watch_exists("/w").await.expect("asked");
    said.note("not yet", &watched.0);
    done(wire.create("/w", b"", PERSISTENT, &OPEN).await);
    said.event("it comes", watched.1).await;
    let (_, _, data) = wire.watch_data("/w").await.expect("there");
    let (_, _, again) = wire.watch_data("/w").await.expect("there");
    let (_, _, children) = wire.watch_children("/w").await.expect("there");
    let (_, _, unheard) = wire.watch_children("/w").await.expect("there");
    drop(unheard);
    done(wire.create("/w/x", b"", PERSISTENT, &OPEN).await);
    said.event("a child", children).await;
    said.of("a change", wire.set_data("/w", b"1", None)).await;
    said.event("heard", data).await;
    said.event("heard twice", again).await;
    said.of("the child", wire.delete("/w/x", None)).await;
    let (_, _, data) = wire.watch_data("/w").await.expect("there");
    let (_, _, children) = wire.watch_children("/w").await.expect("there");
    said.of("the node", wire.delete("/w", None)).await;
    said.event("data", data).await;
    said.event("children", children).await;
    said.note("of nothing", &wire.watch_data("/w").await.map(|_| ()));
    said.note("children of nothing", &wire.watch_children("/w").await.map(|_| ()));
    let (_, ends) = wire.watch_exists("/w").await.expect("asked");
    wire.close().await;
    said.event("the end", ends).await;
    said.note("closed", &wire.link().state);
    said.of("after the end", wire.exists("/w")).await;
}

async fn answers(is_guest: bool, has_all_kinds: bool) -> Vec<String> {
    let server = Server::builder().extended_types(has_all_kinds).start().expect("a free port");
    let hosts = format!("{}/app/below", server.connect_string());
    let (scheme, credential) = ("digest", "me:secret");
    let dial: Box<dyn Dial> = match is_guest {
        true => {
            let connector = zookeeper_client::Client::connector().with_auth(scheme, credential.as_bytes());
            Box::new(Guest::new(connector.connect(&hosts).await.expect("a session")))
        }
        false => Box::new(Own { counters: Arc::default() }),
    };
    let options = ClientOptions::default().auth(Auth::new(scheme, credential));
    let wire = dial.dial(&hosts, &options, &Arc::default()).await.expect("a session");
    let mut said = Answers::default();
    nodes(&*wire, &mut said).await;
    transactions(&*wire, &mut said).await;
    watches(&*wire, &mut said).await;
    said.0
}

#[tokio::test(flavor = "multi_thread")]
async fn both_transports_get_the_same_answers() {
    for has_all_kinds in [true, false] {
        let (crates, ours) = (answers(true, has_all_kinds).await, answers(false, has_all_kinds).await);
        let differ: Vec<_> = crates.iter().zip(&ours).filter(|(theirs, ours)| theirs != ours).collect();
        assert!(differ.is_empty() && crates.len() == ours.len(), "{differ:#?}");
        assert!(ours.len() > 100);
    }
}
