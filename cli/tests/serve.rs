//! `zkrecipes serve`, as far as HTTP goes; `tests/browser` looks at the page.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::Value;
use support::{
    Running, SOON, UNTIL_A_LINE, assert_nothing_left, contenders, eventually, holding, run, server, start,
};
use zkrecipes_embedded::Server;

const PATH: &str = "/locks/report";

struct Page {
    running: Running,
    /// `127.0.0.1:port`
    address: String,
    /// What the address that is printed ends with.
    token: String,
}

impl Page {
    fn open(server: &Server, more: &[&str]) -> Page {
        Page::open_at(server, "127.0.0.1:0", more)
    }

    fn open_at(server: &Server, listen: &str, more: &[&str]) -> Page {
        let args = [&["serve", "--read-only", "--listen", listen], more].concat();
        let running = start(server, &args);
        let url = running.out.line();
        let rest = url.strip_prefix("http://").expect("an address");
        let (address, token) = rest.split_once("/?token=").expect("a token");
        Page { address: address.to_owned(), token: token.to_owned(), running }
    }

    /// Sends this, and gives back status, headers and body.
    fn send(&self, request: &str) -> (u16, String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(SOON)).expect("a socket");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, head.to_ascii_lowercase(), body.to_owned())
    }

    /// As somebody who knows the token.
    fn ask(&self, method: &str, target: &str, headers: &str) -> (u16, String, String) {
        self.ask_as_anybody(method, target, &format!("{}{headers}", self.known()))
    }

    fn ask_as_anybody(&self, method: &str, target: &str, headers: &str) -> (u16, String, String) {
        self.send(&format!("{method} {target} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", self.address))
    }

    fn known(&self) -> String {
        format!("Authorization: Bearer {}\r\n", self.token)
    }

    fn state(&self) -> Value {
        let (status, _, body) = self.ask("GET", "/state.json", "");
        assert_eq!(status, 200);
        serde_json::from_str(&body).expect("JSON")
    }

    fn end(self) -> i32 {
        self.running.signal(libc::SIGINT);
        self.running.end().status
    }
}

#[test]
fn the_state_tells_what_is_in_use_and_who_took_over() {
    let server = server();
    let page = Page::open(&server, &[]);
    eventually("it has looked", || page.state()["ready"] == true);
    let mut holder = holding(&server, &["--identity", "one", PATH], UNTIL_A_LINE);
    let mut waiter = start(&server, &["lock", "--identity", "two", PATH, "--", "sh", "-c", UNTIL_A_LINE]);
    eventually("both are shown", || page.state()["found"][0]["waiting"] == 1);
    let state = page.state();
    let found = &state["found"][0];
    assert_eq!(
        (&found["path"], &found["kind"], &found["holding"]),
        (&PATH.into(), &"lock".into(), &1.into())
    );
    assert_eq!((&state["path"], &state["connected"]), (&"/".into(), &true.into()));
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    assert_eq!(waiter.out.line(), "started");
    eventually("the hand-off is told", || page.state()["history"][0]["to"] == "two");
    let last = &page.state()["history"][0];
    assert_eq!((&last["from"], &last["path"]), (&"one".into(), &PATH.into()));
    assert!(last["held_ms"].is_u64(), "{last}");
    waiter.send_line();
    assert_eq!(waiter.end().status, 0);
    assert_eq!(page.end(), 0);
    assert_nothing_left(&server, PATH);
}

#[test]
fn the_page_is_whole_and_may_do_nothing_but_ask_us() {
    let server = server();
    let page = Page::open(&server, &[]);
    let (status, head, body) = page.ask("GET", "/", "");
    assert_eq!(status, 200);
    assert!(!body.contains("://") && !body.contains("{NONCE}"), "something from elsewhere");
    let policy = head.lines().find(|line| line.starts_with("content-security-policy:")).expect("a policy");
    assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"), "{policy}");
    assert!(!policy.contains("unsafe"), "{policy}");
    let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).expect("a nonce");
    assert_eq!(body.matches(&format!("nonce=\"{nonce}\"")).count(), 2);
    assert!(!page.ask("GET", "/", "").1.contains(nonce), "the nonce is another one each time");
    for header in ["x-content-type-options: nosniff", "x-frame-options: deny", "cache-control: no-store"] {
        assert!(head.contains(header), "{head}");
    }
    let (status, head, body) = page.ask("HEAD", "/", "");
    assert_eq!((status, body.as_str()), (200, ""));
    assert!(!head.contains("content-length: 0\r"), "{head}");
    assert_eq!(page.end(), 0);
}

#[test]
fn nothing_else_is_answered() {
    let server = server();
    let page = Page::open(&server, &[]);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT", "get"] {
        let (status, head, _) = page.ask(method, "/state.json", "");
        assert_eq!(status, 405, "{method}");
        assert!(head.contains("allow: get, head"), "{head}");
    }
    for target in ["/index.html", "/../etc/passwd", "//", "/state.json/", "/?a", "*", "http://evil.example/"]
    {
        assert_eq!(page.ask("GET", target, "").0, 404, "{target}");
    }
    let body = "Content-Length: 3\r\n\r\nabc";
    assert_eq!(page.ask("GET", "/", body).0, 400);
    // What is no request gets no answer but that, and what is too long none at all.
    assert_eq!(page.send("\x16\x03\x01\r\n\r\n").0, 400);
    let long = format!("GET / HTTP/1.1\r\nHost: {}\r\nA: {}\r\n\r\n", page.address, "a".repeat(20_000));
    let mut stream = TcpStream::connect(&page.address).expect("it listens");
    let _ = stream.write_all(long.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert_eq!(answer, b"");
    assert_eq!(page.ask("GET", "/state.json", "").0, 200, "it goes on");
    assert_eq!(page.end(), 0);
}

#[test]
fn a_page_of_another_site_is_told_nothing() {
    let server = server();
    let page = Page::open(&server, &["--host", "zoo.example"]);
    let port = page.address.rsplit(':').next().expect("a port").to_owned();
    let of = |host: &str| {
        page.send(&format!("GET /state.json HTTP/1.1\r\nHost: {host}\r\n{}\r\n", page.known())).0
    };
    for host in [
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        format!("ZOO.example:{port}"),
        "zoo.example".into(),
    ] {
        assert_eq!(of(&host), 200, "{host}");
    }
    for host in [
        format!("evil.example:{port}"),
        "evil.example".into(),
        "localhost".into(),
        "localhost:1".into(),
        String::new(),
    ] {
        assert_eq!(of(&host), 421, "{host}");
    }
    assert_eq!(page.send("GET /state.json HTTP/1.1\r\n\r\n").0, 400, "no host at all");
    let twice = format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil.example\r\n\r\n");
    assert_eq!(page.send(&twice).0, 400);
    for (site, status) in [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)] {
        assert_eq!(
            page.ask("GET", "/state.json", &format!("Sec-Fetch-Site: {site}\r\n")).0,
            status,
            "{site}"
        );
    }
    assert_eq!(page.end(), 0);
}

#[test]
fn whoever_reaches_it_by_an_address_of_this_machine_may_call_it_that() {
    let server = server();
    let mut page = Page::open_at(&server, "0.0.0.0:0", &[]);
    let port = page.address.rsplit(':').next().expect("a port").to_owned();
    // All of 127.0.0.0/8 is this machine.
    page.address = format!("127.0.0.2:{port}");
    assert_eq!(page.ask("GET", "/state.json", "").0, 200);
    for host in [format!("127.0.0.3:{port}"), format!("192.0.2.7:{port}"), "127.0.0.2".into()] {
        assert_eq!(page.send(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).0, 421, "{host}");
    }
    assert_eq!(page.end(), 0);
}

#[test]
fn who_was_asked_to_let_go_is_still_called_by_name_in_the_history() {
    let server = server();
    let page = Page::open(&server, &[]);
    let mut holder = holding(&server, &["--identity", "one", PATH], UNTIL_A_LINE);
    let mut waiter = start(&server, &["lock", "--identity", "two", PATH, "--", "sh", "-c", UNTIL_A_LINE]);
    eventually("both are shown", || page.state()["found"][0]["waiting"] == 1);
    // The waiter, too, before it holds.
    for node in contenders(&server, PATH) {
        assert_eq!(run(&server, &["break", PATH, &node]).status, 0);
    }
    eventually("both were asked", || {
        let state = page.state();
        let all = state["found"][0]["contenders"].as_array().expect("a list").clone();
        all.len() == 2 && all.iter().all(|contender| contender["asked"] == true)
    });
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    assert_eq!(waiter.out.line(), "started");
    eventually("the hand-off is told", || page.state()["history"][0]["from"] == "one");
    assert_eq!(page.state()["history"][0]["to"], "two");
    waiter.send_line();
    assert_eq!(waiter.end().status, 0);
    assert_eq!(page.end(), 0);
}

#[test]
fn what_has_not_changed_is_not_sent_again() {
    let server = server();
    let page = Page::open(&server, &[]);
    eventually("it has looked", || page.state()["ready"] == true);
    let (_, head, _) = page.ask("GET", "/state.json", "");
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).expect("a tag").to_owned();
    let seen = format!("If-None-Match: {tag}\r\n");
    let (status, _, body) = page.ask("GET", "/state.json", &seen);
    assert_eq!((status, body.as_str()), (304, ""));
    let mut holder = holding(&server, &[PATH], UNTIL_A_LINE);
    eventually("it has changed", || page.ask("GET", "/state.json", &seen).0 == 200);
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    assert_eq!(page.end(), 0);
}

#[test]
fn who_only_looks_writes_nothing_and_asks_nothing_while_nothing_changes() {
    // So long that no sign of life of a session is among what is counted.
    let server =
        Server::builder().max_session_timeout(Duration::from_secs(600)).start().expect("a free port");
    let mut holder = holding(&server, &[PATH], UNTIL_A_LINE);
    let before = server.sessions();
    let page = Page::open(&server, &["--session-timeout", "600s"]);
    eventually("it is shown", || page.state()["found"][0]["holding"] == 1);
    let own: Vec<u64> = server.sessions().into_iter().filter(|session| !before.contains(session)).collect();
    let asked = || {
        let log = server.log();
        let ours = log.into_iter().filter(|entry| own.contains(&entry.session_id) && entry.op != "ping");
        ours.map(|entry| entry.op).collect::<Vec<_>>()
    };
    let first = asked();
    for op in &first {
        let is_read = [
            "getData",
            "getChildren",
            "getChildren2",
            "exists",
            "createSession",
            "connect",
            "sync",
            "setWatches",
        ];
        assert!(is_read.contains(&&**op), "{op} is no read");
    }
    for _ in 0..50 {
        assert_eq!(page.state()["found"][0]["holding"], 1);
    }
    assert_eq!(asked(), first, "looking at the page costs the servers nothing");
    holder.send_line();
    assert_eq!(holder.end().status, 0);
    assert_eq!(page.end(), 0);
}

#[test]
fn only_who_knows_the_token_is_answered() {
    let server = server();
    let page = Page::open(&server, &[]);
    let other = Page::open(&server, &[]);
    assert_ne!(page.token, other.token);
    assert!(page.token.len() >= 32, "it cannot be guessed: {}", page.token);
    let port = page.address.rsplit(':').next().expect("a port").to_owned();
    let wrong = other.token.clone();
    for (target, headers) in [
        ("/", String::new()),
        ("/state.json", String::new()),
        ("/elsewhere", String::new()),
        ("/?token=", String::new()),
        (&*format!("/?token={wrong}"), String::new()),
        (&*format!("/state.json?token={wrong}"), String::new()),
        ("/state.json", format!("Authorization: Bearer {wrong}\r\n")),
        ("/state.json", format!("Cookie: zkrecipes-{port}={wrong}\r\n")),
    ] {
        let (status, _, body) = page.ask_as_anybody("GET", target, &headers);
        assert_eq!(status, 401, "{target} {headers}");
        assert!(!body.contains("found") && !body.contains("<script"), "{body}");
    }
    // A browser gets a cookie with the page, and asks with it from then on.
    let (status, head, _) = page.ask_as_anybody("GET", &format!("/?token={}", page.token), "");
    assert_eq!(status, 200);
    let cookie = head.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
    assert!(cookie.contains("; httponly") && cookie.contains("; samesite=strict"), "{cookie}");
    let pair = cookie.split(';').next().expect("a pair");
    for target in ["/", "/state.json"] {
        assert_eq!(page.ask_as_anybody("GET", target, &format!("Cookie: a=b; {pair}\r\n")).0, 200);
    }
    assert_eq!(page.ask_as_anybody("GET", &format!("/state.json?token={}", page.token), "").0, 200);
    assert_eq!((page.end(), other.end()), (0, 0));
}

#[test]
fn a_token_of_ones_own_comes_from_a_file_that_nobody_else_may_read() {
    let server = server();
    let file = std::env::temp_dir().join(format!("zkrecipes-token-{}", std::process::id()));
    let name = file.to_str().expect("text");
    let keep = |content: &str, mode| {
        std::fs::write(&file, content).expect("a file");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).expect("ours");
    };
    keep("0123456789abcdef\n", 0o600);
    let page = Page::open(&server, &["--token-file", name]);
    assert_eq!(page.token, "0123456789abcdef");
    assert_eq!(page.ask("GET", "/state.json", "").0, 200);
    assert_eq!(page.end(), 0);
    for (content, mode) in [("0123456789abcdef", 0o644), ("short", 0o600)] {
        keep(content, mode);
        let ended = run(&server, &["serve", "--listen", "127.0.0.1:0", "--token-file", name]);
        assert_eq!(
            (ended.status, ended.out.as_str(), ended.err.contains(content)),
            (2, "", false),
            "{ended:?}"
        );
    }
    std::fs::remove_file(&file).expect("ours");
}

#[test]
fn connections_that_say_nothing_lock_nobody_out() {
    let server = server();
    let page = Page::open(&server, &[]);
    let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(&page.address).expect("it listens")).collect();
    // Half a request is none either.
    for mut stream in &silent {
        let _ = stream.write_all(b"GET / HTTP/1.1\r\n");
    }
    for _ in 0..50 {
        assert_eq!(page.ask("GET", "/state.json", "").0, 200);
    }
    drop(silent);
    assert_eq!(page.end(), 0);
}

#[test]
fn a_port_that_is_taken_is_told() {
    let server = server();
    let page = Page::open(&server, &[]);
    let ended = run(&server, &["serve", "--listen", &page.address]);
    assert_eq!(ended.status, 2);
    assert!(ended.err.contains(&page.address) && ended.err.contains("--listen"), "{ended:?}");
    assert_eq!(page.end(), 0);
}
