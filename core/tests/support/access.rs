//! Access lists that are changed later, which the library does for nobody.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use zkrecipes_embedded::wire::{Acl, Hello, Request, Writer};

pub const ALL: i32 = 31;
pub const NO_READING: i32 = ALL - 1;
pub const NO_WRITING: i32 = ALL - 2;
pub const NO_CREATION: i32 = ALL - 4;
pub const NO_DELETION: i32 = ALL - 8;

/// From now on anybody may do that with the node, and nothing else.
pub fn set_access(hosts: &str, path: &str, perms: i32) {
    let mut stream = TcpStream::connect(hosts).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(10))).expect("set");
    let hello = Hello { zxid_seen: 0, timeout: 4000, session: 0, password: &[0; 16], read_only: Some(false) };
    let acl = vec![Acl { perms, scheme: "world".into(), id: "anyone".into() }];
    let mut frames = hello.frame();
    for (xid, request) in [(1, Request::SetAcl { path: path.into(), acl, version: -1 }), (2, Request::Close)]
    {
        let mut writer = Writer::request(xid, request.op());
        request.write(&mut writer);
        frames.extend(writer.finish());
    }
    stream.write_all(&frames).expect("sent");
    let mut answers = Vec::new();
    let _ = stream.read_to_end(&mut answers);
    assert!(answers.len() > 100, "a welcome and a Stat: {answers:?}");
}
