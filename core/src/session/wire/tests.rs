//! What is made of the server's answers, asked of a server.

use std::sync::Arc;
use std::time::Duration;

use zkrecipes_embedded::Server;

use super::own::Own;
use super::*;
use crate::drive;
use crate::error::ErrorKind;
use crate::options::{AclEntry, Auth, LeaseTerms};
use crate::session::clock::Clock;
use crate::session::refusal::refusal;
use crate::session::server_session::ServerSession;
use crate::session::system_clock::SystemClock;

#[test]
fn a_quota_that_is_used_up_is_the_users_business() {
    let error = refusal(WireError::QuotaExceeded, "create", "/small");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Denied, Some("/small")));
    assert!(error.to_string().contains("quota"), "{error}");
}

#[test]
fn a_refusal_because_the_session_ends_proves_no_life() {
    let part = |error| WireError::Part { index: 0, error: Box::new(error) };
    for verdict in [WireError::NoNode, part(WireError::NoNode), part(WireError::NoAuth)] {
        assert!(verdict.is_verdict(), "{verdict:?}");
    }
    for other in [WireError::SessionEnded, part(WireError::SessionEnded), part(WireError::ConnectionLoss)] {
        assert!(!other.is_verdict(), "{other:?}");
    }
}

const OPEN: AclChoice = AclChoice::Open;
const PERSISTENT: CreateMode = CreateMode::Persistent;

/// Runs `body` with one session with a server, which knows nodes that live for a time.
fn with_wire<F>(body: impl FnOnce(Server, Box<dyn Wire>) -> F + Send + 'static)
where
    F: Future<Output = Result<(), WireError>> + Send,
{
    let server = Server::builder().extended_types(true).start().expect("a free port");
    let options = ClientOptions::default().auth(Auth::new("digest", "me:secret"));
    let test = async move {
        let dial = Own { counters: Arc::default() };
        let wire = dial.dial(&server.connect_string(), &options, &Arc::default()).await.expect("a session");
        body(server.clone(), wire).await.expect("no request fails");
        Ok(())
    };
    let within = async move {
        let late = crate::Error::timeout("it did not come");
        tokio::time::timeout(Duration::from_secs(20), test).await.unwrap_or(Err(late))
    };
    drive::wait(within, None, None).expect("in time");
}

fn create(path: &str, mode: CreateMode, acl: Option<AclChoice>) -> Write {
    Write::Create { path: path.to_owned(), data: b"x".to_vec(), mode, acl }
}

#[test]
fn a_transaction_tells_of_each_part() {
    with_wire(|_server, wire| async move {
        let parts = [
            create("/n-", CreateMode::PersistentSequential, None),
            Write::Set { path: "/n-0000000000".to_owned(), data: b"yz".to_vec(), version: Some(0) },
            Write::Check { path: "/n-0000000000".to_owned(), version: Some(1) },
            create("/gone", PERSISTENT, None),
            Write::Delete { path: "/gone".to_owned(), version: None },
        ];
        let applied = wire.multi(&parts, &OPEN).await?;
        let [
            Applied::Created(first),
            Applied::Set(set),
            Applied::Checked,
            Applied::Created(_),
            Applied::Deleted,
        ] = &applied[..]
        else {
            panic!("{applied:?}")
        };
        assert_eq!(first.path, "/n-0000000000");
        assert_eq!((set.version, set.data_length, set.czxid), (1, 2, first.czxid));
        Ok(())
    });
}

#[test]
fn a_part_of_a_transaction_may_bring_an_access_list_of_its_own() {
    with_wire(|_server, wire| async move {
        let read_only = AclChoice::List(vec![AclEntry::new("world", "anyone", "r")]);
        let parts = [create("/a", PERSISTENT, None), create("/b", PERSISTENT, Some(read_only))];
        wire.multi(&parts, &OPEN).await?;
        wire.set_data("/a", b"y", None).await?;
        assert_eq!(wire.set_data("/b", b"y", None).await, Err(WireError::NoAuth));
        Ok(())
    });
}

#[test]
fn requests_are_measured_with_the_access_list_and_the_time_to_live_of_their_own() {
    with_wire(|server, wire| async move {
        let own = AclChoice::List(vec![
            AclEntry::new("auth", "", "rwcda"),
            AclEntry::new("ip", "127.0.0.1", "rwcda"),
        ]);
        let short_lived = CreateMode::PersistentTtl(Duration::from_secs(60));
        let parts = [create("/a", short_lived, Some(own)), create("/b", PERSISTENT, None)];
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let now = clock.now();
        let server_session = ServerSession::new(
            wire,
            clock,
            "",
            AclChoice::Creator,
            LeaseTerms::default(),
            now,
            Arc::default(),
        );
        server_session.multi(&parts).await?;
        server_session.create("/c", b"x", short_lived).await?;
        let measure = server_session.measure();
        let last = |op: &str| server.log().iter().rfind(|entry| entry.op == op).expect("sent").bytes_in - 4;
        assert_eq!(last("multi"), measure.multi(&parts));
        assert_eq!(last("createTTL"), measure.create("/c", b"x", short_lived));
        Ok(())
    });
}

#[test]
fn children_come_with_the_metadata_of_their_parent() {
    with_wire(|_server, wire| async move {
        wire.create("/p", b"", PERSISTENT, &OPEN).await?;
        wire.create("/p/a", b"", PERSISTENT, &OPEN).await?;
        let (names, stat) = wire.children_and_stat("/p").await?;
        assert_eq!((names, stat.cversion), (vec!["a".to_owned()], 1));
        let (_, stat, watch) = wire.watch_children("/p").await?;
        assert_eq!(stat.num_children, 1);
        wire.create("/p/b", b"", PERSISTENT, &OPEN).await?;
        assert_eq!(watch.await, Event::ChildrenChanged);
        Ok(())
    });
}

#[test]
fn a_missing_node_is_watched_for_its_creation_over_reconnections() {
    with_wire(|server, wire| async move {
        let (found, watch) = wire.watch_exists("/later").await?;
        assert_eq!(found, None);
        server.drop_connections();
        // What was under way when the connection broke may be lost.
        while wire.create("/later", b"", PERSISTENT, &OPEN).await == Err(WireError::ConnectionLoss) {}
        assert_eq!(watch.await, Event::Created);
        let (found, watch) = wire.watch_exists("/later").await?;
        assert_eq!(found.map(|stat| stat.version), Some(0));
        wire.set_data("/later", b"x", None).await?;
        assert_eq!(watch.await, Event::DataChanged);
        let (_, unwanted) = wire.watch_exists("/never").await?;
        assert_eq!(server.watch_count(), 1);
        drop(unwanted);
        wire.sync("/").await?;
        assert_eq!(server.watch_count(), 0, "taken back");
        Ok(())
    });
}

#[test]
fn a_session_knows_its_own_ephemeral_nodes() {
    with_wire(|_server, wire| async move {
        for path in ["/a", "/ab"] {
            wire.create(path, b"", PERSISTENT, &OPEN).await?;
            wire.create(&format!("{path}/mine"), b"", CreateMode::Ephemeral, &OPEN).await?;
        }
        assert_eq!(wire.own_ephemerals("/a").await?, ["/a/mine"]);
        let mut all = wire.own_ephemerals("/").await?;
        all.sort();
        assert_eq!(all, ["/a/mine", "/ab/mine"]);
        Ok(())
    });
}

/// Whoever reads twice must not take the earlier answer for the newer one.
#[test]
fn answers_come_in_the_order_of_the_requests() {
    with_wire(|_server, wire| async move {
        for round in 0..500 {
            let mut flights: Vec<_> = (0..8).map(|_| wire.exists("/")).collect();
            flights.pop().expect("the last").await?;
            for (at, earlier) in flights.into_iter().enumerate() {
                let answer = earlier.now_or_never();
                assert!(answer.is_some(), "in round {round} the last overtook number {at}");
            }
        }
        Ok(())
    });
}
