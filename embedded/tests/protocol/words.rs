//! Four letter words.

use crate::support::{Raw, word};
use zkrecipes_embedded::Server;

#[test]
fn every_word_is_answered() {
    let server = Server::start().unwrap();
    let address = server.connect_string();
    let mut raw = Raw::connect(&address);
    raw.create("/e", 1).unwrap();
    raw.exists("/e", true).unwrap();
    let id = format!("0x{:x}", raw.session);
    assert_eq!(word(&address, "ruok"), "imok");
    assert_eq!(word(&address, "isro"), "rw");
    let srvr = word(&address, "srvr");
    for line in ["Zookeeper version: 3.9.5", "Zxid: 0x2", "Mode: standalone", "Node count: 5"] {
        assert!(srvr.contains(line), "{line} in {srvr}");
    }
    assert!(word(&address, "stat").contains("Clients:\n /127.0.0.1:"));
    assert!(word(&address, "cons").contains(&format!("sid={id}")));
    let mntr = word(&address, "mntr");
    for row in
        ["zk_znode_count\t5", "zk_watch_count\t1", "zk_ephemerals_count\t1", "zk_server_state\tstandalone"]
    {
        assert!(mntr.contains(row), "{row} in {mntr}");
    }
    let dump = word(&address, "dump");
    assert!(dump.contains(&format!("{id}:\n\t/e\n")), "{dump}");
    assert_eq!(word(&address, "wchs"), "1 connections watching 1 paths\nTotal watches:1\n");
    assert_eq!(word(&address, "wchp"), format!("/e\n\t{id}\n\n"));
    assert_eq!(word(&address, "wchc"), format!("{id}\n\t/e\n\n"));
    assert!(word(&address, "envi").contains("zookeeper.version=3.9.5"));
    assert!(word(&address, "conf").contains("tickTime=500\n"));
    assert_eq!(
        (word(&address, "srst"), word(&address, "crst").len()),
        ("Server stats reset.\n".to_owned(), 24)
    );
    server.set_read_only(true);
    assert_eq!(word(&address, "isro"), "ro");
}

#[test]
fn a_word_after_the_handshake_is_an_oversized_frame() {
    let server = Server::start().unwrap();
    let mut raw = Raw::connect(&server.connect_string());
    std::io::Write::write_all(&mut raw.stream, b"ruok").unwrap();
    assert!(raw.is_closed());
}
