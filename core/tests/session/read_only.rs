//! A client that may read from a server without quorum goes on with a session of its own once there is one again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::hostile::{Hostile, Peer};
use crate::support::{eventually, lock_of, options, server, soon};
use zkrecipes::{Client, CreateMode, ErrorKind, State};
use zkrecipes_protocol::{Hello, Op, Reply, Stat, Welcome, Writer};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_only_read_is_replaced_when_the_server_writes_again() {
    let server = server();
    server.set_read_only(true);
    // For longer than anything here waits: a session that is left behind is seen.
    let options = options(Duration::from_secs(60)).read_only(true);
    let client = Client::connect(&server.connect_string(), options).await.expect("it may read");
    client.nodes().exists("/").await.expect("it reads");
    let local = client.session_id();
    server.set_read_only(false);
    server.drop_connections();

    let held = soon("the lock", lock_of(&client, "/locks/a").acquire()).await.expect("it is free");
    assert_ne!(client.session_id(), local);
    // The embedded server remembers the local session until its timeout.
    let sessions = || server.sessions().into_iter().filter(|id| *id != local).collect::<Vec<_>>();
    // What the connection opened by itself, before it was known that the local session is over, is closed.
    eventually("one session, and the client knows it", || sessions() == [client.session_id()]).await;
    let stat = client.nodes().exists(held.node()).await.expect("it reads").expect("it is there");
    assert_eq!(stat.ephemeral_owner as u64, client.session_id());
    eventually("the lease of that session", || held.is_held()).await;
    held.release().await.expect("released");
    client.close(None).await.expect("closed");
    eventually("no session is left", || sessions().is_empty()).await;
}

/// One of two servers that know of each other's sessions, as it is just now.
#[derive(Default)]
struct Member {
    is_there: AtomicBool,
    has_quorum: AtomicBool,
    /// So many connections were granted a session there.
    welcomed: AtomicUsize,
}

impl Member {
    fn begin(self: &Arc<Member>) -> Hostile {
        let member = self.clone();
        Hostile::begin(Arc::new(move |peer| member.serve(peer)))
    }

    fn serve(&self, peer: &mut Peer) -> std::io::Result<()> {
        let mut word = [0; 4];
        peer.socket.peek(&mut word)?;
        let has_quorum = self.has_quorum.load(Ordering::SeqCst);
        if &word == b"isro" {
            return peer.send(if has_quorum { b"rw" } else { b"ro" });
        }
        if !self.is_there.load(Ordering::SeqCst) {
            return Ok(());
        }
        let hello = peer.frame()?;
        let asked = Hello::read(&hello).expect("a hello").session;
        let session = if asked == 0 { 8 } else { asked };
        let welcome = Welcome { timeout: 20_000, session, password: &[3; 16], read_only: Some(!has_quorum) };
        peer.send(&welcome.frame())?;
        self.welcomed.fetch_add(1, Ordering::SeqCst);
        while self.is_there.load(Ordering::SeqCst) {
            let (xid, op) = peer.asked()?;
            let mut w = Writer::reply(xid, 1, 0);
            match op {
                Op::SYNC => Reply::Path("/".into()).write(&mut w),
                Op::CLOSE => {}
                _ => Reply::Stat(Stat::default()).write(&mut w),
            }
            peer.send(&w.finish())?;
        }
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_moves_from_a_server_that_only_reads_to_one_with_a_quorum() {
    let (lone, leading) = (Arc::<Member>::default(), Arc::<Member>::default());
    let (at_lone, at_leading) = (lone.begin(), leading.begin());
    leading.is_there.store(true, Ordering::SeqCst);
    leading.has_quorum.store(true, Ordering::SeqCst);
    let hosts = format!("{},{}", at_lone.hosts, at_leading.hosts);
    let options = options(Duration::from_secs(20)).read_only(true);
    let client = Client::connect(&hosts, options).await.expect("one of them is there");
    assert_eq!(client.session_id(), 8);
    // The one with the quorum goes, and the other one only reads.
    leading.is_there.store(false, Ordering::SeqCst);
    leading.has_quorum.store(false, Ordering::SeqCst);
    lone.is_there.store(true, Ordering::SeqCst);
    let _ = soon("an answer", client.nodes().exists("/")).await;
    let _ = soon("another one", client.nodes().exists("/")).await;
    eventually("it is at the one that only reads", || lone.welcomed.load(Ordering::SeqCst) > 0).await;
    let before = leading.welcomed.load(Ordering::SeqCst);
    leading.is_there.store(true, Ordering::SeqCst);
    leading.has_quorum.store(true, Ordering::SeqCst);
    eventually("it has gone back", || leading.welcomed.load(Ordering::SeqCst) > before).await;
    eventually("it is connected", || client.state() == State::Connected).await;
    assert_eq!((client.session_id(), client.metrics().sessions_lost), (8, 0));
}

/// Three real servers that let clients read without a quorum; they end with us.
struct Ensemble {
    hosts: String,
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Ensemble {
    fn start() -> Ensemble {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/zookeeper/zookeeper.py");
        let mut command = Command::new("python3");
        command.arg(program).args(["run", "3.9", "--nodes", "3", "--tick", "250"]);
        // Without a quorum a server opens only sessions that no other one has to know.
        command.args(["--property", "readonlymode.enabled=true", "--line", "localSessionsEnabled=true"]);
        command.args(["--line", "localSessionsUpgradingEnabled=true"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 runs");
        let says = BufReader::new(child.stdout.take().expect("piped"));
        let mut ensemble = Ensemble { hosts: String::new(), child, says };
        let hosts = ensemble.line();
        ensemble.hosts =
            hosts.strip_prefix("ready ").expect("it starts; its last words are above").to_owned();
        ensemble
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.says.read_line(&mut line).expect("an answer");
        line.trim().to_owned()
    }

    /// What the last member answers to a word of four letters.
    fn last_says(&self, word: &str) -> String {
        let mut answer = String::new();
        let address = self.hosts.rsplit(',').next().expect("three");
        if let Ok(mut socket) = TcpStream::connect(address) {
            let _ = socket.write_all(word.as_bytes());
            let _ = socket.read_to_string(&mut answer);
        }
        answer
    }

    fn told(&mut self, words: &str) {
        writeln!(self.child.stdin.as_mut().expect("piped"), "{words}").expect("it listens");
        assert_eq!(self.line(), "ok", "{words}");
    }
}

impl Drop for Ensemble {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_of_a_real_ensemble_that_has_lost_the_others_is_read_from_until_there_is_a_quorum_again() {
    let mut ensemble = Ensemble::start();
    ensemble.told("kill 1");
    ensemble.told("kill 2");
    // Until it knows that it is alone, it takes everybody.
    eventually("it only reads", || ensemble.last_says("isro") == "ro").await;
    let options = options(Duration::from_secs(20)).read_only(true).connect_timeout(Duration::from_secs(60));
    let connecting = tokio::time::timeout(Duration::from_secs(60), Client::connect(&ensemble.hosts, options));
    let client = connecting.await.expect("in time").expect("it may read");
    let local = client.session_id();
    assert!(client.nodes().exists("/zookeeper").await.expect("it reads").is_some());
    let nodes = client.nodes();
    let write = || nodes.create("/written", b"", CreateMode::Persistent);
    let error = write().await.map(drop).expect_err("there is no quorum");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    assert!(error.to_string().contains("has lost its quorum and only reads"), "{error}");

    // Whichever of them starts first has nobody but the one that was left.
    ensemble.told("start 1");
    ensemble.told("start 2");
    let acquiring = tokio::time::timeout(Duration::from_secs(60), lock_of(&client, "/locks/a").acquire());
    let held = acquiring.await.expect("in time").expect("it is free");
    assert_ne!(client.session_id(), local);
    held.verify().await.expect("held");
    write().await.expect("there is a quorum");
    held.release().await.expect("released");
    client.close(None).await.expect("closed");
}
