//! An unmodified client, zookeeper-client, against the server.

use std::time::Duration;
use zkrecipes_embedded::{Fault, Server};
use zookeeper_client as zk;

async fn client(server: &Server) -> zk::Client {
    zk::Client::connect(&server.connect_string()).await.expect("a session")
}

const PERSISTENT: zk::CreateMode = zk::CreateMode::Persistent;
const EPHEMERAL_SEQUENTIAL: zk::CreateMode = zk::CreateMode::EphemeralSequential;

fn open(mode: zk::CreateMode) -> zk::CreateOptions<'static> {
    mode.with_acls(zk::Acls::anyone_all())
}

#[tokio::test]
async fn nodes_are_created_read_changed_and_deleted() {
    let server = Server::start().unwrap();
    let client = client(&server).await;
    let (stat, sequence) = client.create("/a", b"one", &open(PERSISTENT)).await.unwrap();
    assert_eq!((stat.version, stat.data_length), (0, 3));
    assert!(sequence.into_i64() < 0, "not sequential");
    assert_eq!(client.get_data("/a").await.unwrap(), (b"one".to_vec(), stat));
    let changed = client.set_data("/a", b"two", Some(0)).await.unwrap();
    assert_eq!(changed.version, 1);
    assert_eq!(client.set_data("/a", b"no", Some(0)).await, Err(zk::Error::BadVersion));
    let (_, sequence) = client.create("/a/n-", b"", &open(EPHEMERAL_SEQUENTIAL)).await.unwrap();
    assert_eq!(sequence.into_i64(), 0);
    let (children, stat) = client.get_children("/a").await.unwrap();
    assert_eq!((children, stat.num_children, stat.cversion), (vec!["n-0000000000".to_owned()], 1, 1));
    assert_eq!(client.delete("/a", None).await, Err(zk::Error::NotEmpty));
    client.delete("/a/n-0000000000", None).await.unwrap();
    client.delete("/a", Some(1)).await.unwrap();
    assert_eq!(client.check_stat("/a").await.unwrap(), None);
    assert_eq!(server.count("create2", "/a**"), 2);
}

#[tokio::test]
async fn watches_fire_and_the_session_ends_with_its_nodes() {
    let server = Server::start().unwrap();
    let (first, second) = (client(&server).await, client(&server).await);
    first.create("/e", b"", &open(zk::CreateMode::Ephemeral)).await.unwrap();
    let (_, _, watcher) = second.get_and_watch_data("/e").await.unwrap();
    drop(first);
    let event = watcher.changed().await;
    assert_eq!((event.event_type, event.path.as_str()), (zk::EventType::NodeDeleted, "/e"));
    assert_eq!(server.nodes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_multi_happens_as_a_whole_or_not_at_all() {
    let server = Server::start().unwrap();
    let client = client(&server).await;
    let mut writer = client.new_multi_writer();
    writer.add_create("/m", b"", &open(PERSISTENT)).unwrap();
    writer.add_create("/m/x", b"", &open(PERSISTENT)).unwrap();
    writer.add_set_data("/m", b"set", Some(0)).unwrap();
    assert_eq!(writer.commit().await.unwrap().len(), 3);
    let zxid = server.zxid();
    let mut writer = client.new_multi_writer();
    writer.add_delete("/m/x", None).unwrap();
    writer.add_delete("/missing", None).unwrap();
    assert!(writer.commit().await.is_err());
    assert_eq!(server.nodes(), ["/m", "/m/x"]);
    assert_eq!(server.zxid(), zxid + 1, "a failed multi takes a zxid too");
}

#[tokio::test]
async fn a_session_survives_dropped_connections_and_a_restart() {
    let server = Server::start().unwrap();
    let client = client(&server).await;
    client.create("/e", b"", &open(zk::CreateMode::Ephemeral)).await.unwrap();
    server.drop_connections();
    assert!(retried(&client).await);
    server.restart().unwrap();
    assert!(retried(&client).await);
    assert_eq!(server.nodes(), ["/e"]);
    assert_eq!(server.sessions().len(), 1);
}

/// Reads until the client is back on its session.
async fn retried(client: &zk::Client) -> bool {
    for _ in 0..1000 {
        match client.check_stat("/e").await {
            Ok(stat) => return stat.is_some(),
            Err(zk::Error::ConnectionLoss) => tokio::time::sleep(Duration::from_millis(10)).await,
            Err(e) => panic!("{e}"),
        }
    }
    false
}

#[tokio::test]
async fn an_expired_session_is_told_so() {
    let server = Server::start().unwrap();
    let client = client(&server).await;
    client.create("/e", b"", &open(zk::CreateMode::Ephemeral)).await.unwrap();
    let [id] = server.sessions()[..] else { panic!("one session") };
    assert!(server.expire(id));
    assert!(server.nodes().is_empty());
    let mut watcher = client.state_watcher();
    while watcher.state() != zk::SessionState::Expired {
        watcher.changed().await;
    }
    assert!(!server.expire(id));
}

#[tokio::test]
async fn a_lost_answer_leaves_the_node_behind() {
    let server = Server::start().unwrap();
    let client = client(&server).await;
    let id = server.inject_text("drop_after create2 path=/a").unwrap();
    let result = client.create("/a", b"", &open(PERSISTENT)).await;
    assert_eq!(result.unwrap_err(), zk::Error::ConnectionLoss);
    assert!(server.fault_fired(id));
    assert_eq!(server.nodes(), ["/a"]);
    let id = server.inject(Fault::drop_before("setData"));
    while client.set_data("/a", b"lost", None).await.is_ok() {}
    assert!(server.fault_fired(id));
    assert_eq!(server.count("setData", "/a"), 0, "what was lost did not reach the server");
}
