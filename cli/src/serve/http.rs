//! As much of HTTP/1.1 as one page and its JSON need, and nothing else: no bodies, no connections that stay, no paths but two.
//!
//! Written by hand, because most of what a library would add is to be refused here. A thread per connection, a few of them,
//! each for some seconds.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::guests::Guests;
use super::key::Key;
use super::{Shared, lock};

const PAGE: &str = include_str!("page.html");
/// So many are listened to or answered at a time.
const AT_ONCE: usize = 32;
/// How long somebody new waits for one of those to leave.
const UNTIL_ONE_LEAVES: Duration = Duration::from_secs(1);
/// A request that is longer is none for us.
const LONGEST: usize = 8 * 1024;
/// How long a request may take to come.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long an answer may take to go, all of it: who reads a little now and then would stay for ever.
const LONGEST_ANSWER: Duration = Duration::from_secs(30);
/// So much of an answer is handed over at a time.
const PIECE: usize = 64 * 1024;

/// Lets browsers in until it is dropped.
pub(super) struct Door {
    address: SocketAddr,
    is_closed: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// What every answer needs.
struct House {
    shared: Shared,
    hosts: Vec<String>,
    /// Tells the answers of this process from those of another one.
    mark: String,
    key: Key,
    guests: Guests,
}

impl Door {
    pub(super) fn open(
        listener: TcpListener,
        names: &[String],
        token: String,
        shared: Shared,
    ) -> io::Result<Door> {
        let address = listener.local_addr()?;
        let (hosts, mark) = (hosts(address, names), random());
        let key = Key::new(token, address.port());
        let house = Arc::new(House { shared, hosts, mark, key, guests: Guests::default() });
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = is_closed.clone();
        let thread = std::thread::Builder::new().name("zkrecipes-door".to_owned()).spawn(move || {
            for stream in listener.incoming() {
                if closed.load(Ordering::Acquire) {
                    return;
                }
                match stream {
                    Ok(stream) => let_in(&house, stream),
                    // Of file descriptors, for one, there may be more in a moment.
                    Err(_) => std::thread::sleep(Duration::from_millis(50)),
                }
            }
        })?;
        Ok(Door { address, is_closed, thread: Some(thread) })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::Release);
        let mut near = self.address;
        if near.ip().is_unspecified() {
            near.set_ip(if near.is_ipv4() {
                [127, 0, 0, 1].into()
            } else {
                [0, 0, 0, 0, 0, 0, 0, 1u16].into()
            });
        }
        // One more, so that it is noticed.
        if TcpStream::connect_timeout(&near, Duration::from_secs(1)).is_ok()
            && let Some(thread) = self.thread.take()
        {
            let _ = thread.join();
        }
    }
}

/// How a browser may call us: a page of another site, whose name was made to mean this machine, calls us by that name.
fn hosts(address: SocketAddr, names: &[String]) -> Vec<String> {
    let own = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
    let mut hosts: Vec<String> = Vec::new();
    for name in own.iter().chain(names) {
        hosts.push(format!("{name}:{}", address.port()).to_ascii_lowercase());
        // Which port is not said of the usual one, and a name that was given may be that of a proxy.
        if address.port() == 80 || names.contains(name) {
            hosts.push(name.to_ascii_lowercase());
        }
    }
    hosts.push(address.to_string());
    hosts
}

/// Whether a browser calls us by the address at which it has reached us. That is no name: nobody can make it mean another
/// machine than it does.
fn is_address(host: &str, own: SocketAddr) -> bool {
    // With an IPv4 address in the form of IPv6, and without the number of the interface, which browsers do not know.
    let own = SocketAddr::new(own.ip().to_canonical(), own.port());
    let without_port = || host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.parse() == Ok(own) || (own.port() == 80 && without_port() == Ok(own.ip()))
}

fn let_in(house: &Arc<House>, stream: TcpStream) {
    let Some(guest) = house.guests.enter(&stream, AT_ONCE, UNTIL_ONE_LEAVES) else { return };
    let inside = house.clone();
    let answering = move || {
        // Who does not read the answer has gone.
        let _ = serve(&inside, guest, stream);
        inside.guests.leave(guest);
    };
    if std::thread::Builder::new().name("zkrecipes-guest".to_owned()).spawn(answering).is_err() {
        house.guests.leave(guest);
    }
}

fn serve(house: &House, guest: u64, mut stream: TcpStream) -> io::Result<()> {
    // What is at the end of an answer need not wait until somebody has confirmed its beginning.
    stream.set_nodelay(true)?;
    let own = stream.local_addr()?;
    let Some(head) = head(&mut stream)? else { return Ok(()) };
    let (is_head, answer) = match Request::parse(&head) {
        Ok(request) => (request.method == "HEAD", house.answer(&request, own)?),
        Err(status) => (false, Answer::refusal(status)),
    };
    if answer.status == Status::Fine {
        house.guests.is_known(guest);
    }
    let body = if is_head { "" } else { &*answer.body };
    send(&mut stream, &[answer.head().as_bytes(), body.as_bytes()], LONGEST_ANSWER)?;
    stream.shutdown(std::net::Shutdown::Write)
}

/// Writes all of it, within that time.
fn send(stream: &mut TcpStream, parts: &[&[u8]], limit: Duration) -> io::Result<()> {
    let until = Instant::now() + limit;
    for piece in parts.iter().flat_map(|part| part.chunks(PIECE)) {
        let mut rest = piece;
        while !rest.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            stream.set_write_timeout(Some(left))?;
            match stream.write(rest) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => rest = &rest[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Everything up to the empty line; `None` if that does not come.
fn head(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let until = Instant::now() + PATIENCE;
    let mut head = Vec::new();
    let mut buffer = [0; 1024];
    loop {
        let rest = until.saturating_duration_since(Instant::now());
        if rest.is_zero() || head.len() > LONGEST {
            return Ok(None);
        }
        stream.set_read_timeout(Some(rest))?;
        let count = stream.read(&mut buffer)?;
        head.extend_from_slice(&buffer[..count]);
        if let Some(end) = head.windows(4).position(|four| four == b"\r\n\r\n") {
            head.truncate(end);
            return Ok(String::from_utf8(head).ok());
        }
        if count == 0 {
            return Ok(None);
        }
    }
}

/// The statuses that we know.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Status {
    Fine,
    Unchanged,
    Bad,
    NoToken,
    Forbidden,
    Unknown,
    NoSuchMethod,
    WrongHost,
}

impl Status {
    fn line(self) -> &'static str {
        match self {
            Status::Fine => "200 OK",
            Status::Unchanged => "304 Not Modified",
            Status::Bad => "400 Bad Request",
            Status::NoToken => "401 Unauthorized",
            Status::Forbidden => "403 Forbidden",
            Status::Unknown => "404 Not Found",
            Status::NoSuchMethod => "405 Method Not Allowed",
            Status::WrongHost => "421 Misdirected Request",
        }
    }
}

#[derive(Debug)]
struct Request<'a> {
    method: &'a str,
    target: &'a str,
    headers: Vec<(String, &'a str)>,
}

impl Request<'_> {
    fn parse(head: &str) -> Result<Request<'_>, Status> {
        let mut lines = head.split("\r\n");
        let words: Vec<_> = lines.next().unwrap_or_default().split(' ').collect();
        let [method, target, "HTTP/1.1" | "HTTP/1.0"] = words[..] else { return Err(Status::Bad) };
        let mut headers = Vec::new();
        for line in lines {
            let (name, value) = line.split_once(':').ok_or(Status::Bad)?;
            let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            if name.is_empty()
                || !name.bytes().all(is_token)
                || value.chars().any(|c| c.is_control() && c != '\t')
            {
                return Err(Status::Bad);
            }
            headers.push((name.to_ascii_lowercase(), value.trim_matches([' ', '\t'])));
        }
        let request = Request { method, target, headers };
        let has_body = request.header("transfer-encoding")?.is_some()
            || request.header("content-length")?.is_some_and(|length| length != "0");
        if has_body { Err(Status::Bad) } else { Ok(request) }
    }

    /// A header that may be there once.
    fn header(&self, name: &str) -> Result<Option<&str>, Status> {
        let mut values = self.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| *value);
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(Status::Bad),
            (value, None) => Ok(value),
        }
    }
}

struct Answer {
    status: Status,
    kind: &'static str,
    body: Arc<str>,
    more: String,
}

impl Answer {
    fn refusal(status: Status) -> Answer {
        let more = match status {
            Status::NoSuchMethod => "Allow: GET, HEAD\r\n",
            Status::NoToken => "WWW-Authenticate: Bearer\r\n",
            _ => "",
        };
        let (more, body) = (
            more.to_owned(),
            match status {
                Status::Unchanged => String::new(),
                Status::NoToken => {
                    "zkrecipes serve prints an address with a token: open that one\n".to_owned()
                }
                status => format!("{}\n", status.line()),
            },
        );
        Answer { status, kind: "text/plain; charset=utf-8", body: body.into(), more }
    }

    fn head(&self) -> String {
        let Answer { status, kind, body, more } = self;
        format!(
            "HTTP/1.1 {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
             Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Cross-Origin-Opener-Policy: same-origin\r\n{more}\r\n",
            status.line(),
            body.len()
        )
    }
}

/// What a page may do that is refused everything else: run the script and have the style that are in it, and ask us.
fn policy(nonce: &str) -> String {
    format!(
        "Content-Security-Policy: default-src 'none'; img-src data:; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; \
         connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    )
}

impl House {
    /// `own` is the address at which the request has reached us.
    fn answer(&self, request: &Request<'_>, own: SocketAddr) -> io::Result<Answer> {
        let (path, query) = match request.target.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (request.target, None),
        };
        Ok(match self.check(request, path, query, own) {
            Err(status) => Answer::refusal(status),
            Ok(()) if query.is_some_and(|query| !query.starts_with("token=")) => {
                Answer::refusal(Status::Unknown)
            }
            Ok(()) if path == "/" => {
                let nonce = random();
                Answer {
                    status: Status::Fine,
                    kind: "text/html; charset=utf-8",
                    body: PAGE.replace("{NONCE}", &nonce).into(),
                    more: policy(&nonce) + &self.key.cookie(),
                }
            }
            Ok(()) if path == "/state.json" => self.state(request),
            Ok(()) => Answer::refusal(Status::Unknown),
        })
    }

    fn check(
        &self,
        request: &Request<'_>,
        path: &str,
        query: Option<&str>,
        own: SocketAddr,
    ) -> Result<(), Status> {
        let host = request.header("host")?.ok_or(Status::Bad)?.to_ascii_lowercase();
        if !self.hosts.contains(&host) && !is_address(&host, own) {
            return Err(Status::WrongHost);
        }
        if !matches!(request.method, "GET" | "HEAD") {
            return Err(Status::NoSuchMethod);
        }
        // Browsers say of a request whether a page of another site makes it. Whoever follows a link may.
        match request.header("sec-fetch-site")? {
            Some("cross-site" | "same-site") if path != "/" => return Err(Status::Forbidden),
            _ => {}
        }
        let is_known = self.key.opens(query, request.header("cookie")?, request.header("authorization")?);
        if is_known { Ok(()) } else { Err(Status::NoToken) }
    }

    fn state(&self, request: &Request<'_>) -> Answer {
        let mut known = lock(&self.shared);
        let tag = format!("\"{}-{}\"", self.mark, known.version);
        let more = format!("ETag: {tag}\r\n");
        match request.header("if-none-match") {
            Ok(Some(seen)) if seen == tag => Answer { more, ..Answer::refusal(Status::Unchanged) },
            _ => Answer { status: Status::Fine, kind: "application/json", body: known.text(), more },
        }
    }
}

/// What nobody can guess.
pub(super) fn random() -> String {
    uuid::Uuid::new_v4().simple().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(head: &str) -> Result<(), Status> {
        Request::parse(head).map(drop)
    }

    #[test]
    fn what_is_no_plain_request_is_refused() {
        assert_eq!(parsed("GET / HTTP/1.1\r\nHost: localhost:1\r\nAccept: */*"), Ok(()));
        for head in [
            "",
            "GET /",
            "GET / HTTP/2",
            "GET  / HTTP/1.1",
            "GET / HTTP/1.1\r\nHost",
            "GET / HTTP/1.1\r\nHost : a",
            "GET / HTTP/1.1\r\n folded: a",
            "GET / HTTP/1.1\r\nHost: a\nb: c",
            "GET / HTTP/1.1\r\nContent-Length: 4",
            "GET / HTTP/1.1\r\nTransfer-Encoding: chunked",
            "GET / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0",
        ] {
            assert_eq!(parsed(head), Err(Status::Bad), "{head:?}");
        }
    }

    #[test]
    fn only_names_of_this_machine_are_ours() {
        let local: SocketAddr = "127.0.0.1:7181".parse().expect("an address");
        let known = hosts(local, &["Zoo.example".to_owned()]);
        for name in ["localhost:7181", "127.0.0.1:7181", "[::1]:7181", "zoo.example", "zoo.example:7181"] {
            assert!(known.iter().any(|host| host == name), "{name}");
        }
        for name in
            ["localhost", "localhost:80", "evil.example", "evil.example:7181", "localhost.evil.example:7181"]
        {
            assert!(!known.iter().any(|host| host == name), "{name}");
        }
    }

    #[test]
    fn the_address_at_which_we_were_reached_is_ours() {
        let own = |address: &str| -> SocketAddr { address.parse().expect("an address") };
        for (host, address, is_ours) in [
            ("192.0.2.7:7181", "192.0.2.7:7181", true),
            ("192.0.2.7:7181", "[::ffff:192.0.2.7]:7181", true),
            ("[2001:db8::7]:7181", "[2001:db8::7]:7181", true),
            ("192.0.2.7", "192.0.2.7:80", true),
            ("[2001:db8::7]", "[2001:db8::7]:80", true),
            ("192.0.2.7", "192.0.2.7:7181", false),
            ("192.0.2.7:80", "192.0.2.7:7181", false),
            ("192.0.2.8:7181", "192.0.2.7:7181", false),
            ("evil.example:7181", "192.0.2.7:7181", false),
            ("", "192.0.2.7:80", false),
        ] {
            assert_eq!(is_address(host, own(address)), is_ours, "{host} at {address}");
        }
    }

    #[test]
    fn who_reads_an_answer_slowly_is_not_waited_for_for_ever() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let mut reader = TcpStream::connect(listener.local_addr().expect("a port")).expect("it listens");
        let (mut stream, _) = listener.accept().expect("somebody");
        // More than the system takes at once, and never a pause in which nothing is read.
        let answer = vec![b'x'; 256 << 20];
        let reading = std::thread::spawn(move || {
            let mut buffer = vec![0; 256 << 10];
            while reader.read(&mut buffer).is_ok_and(|count| count > 0) {
                std::thread::sleep(Duration::from_millis(10));
            }
        });
        let error = send(&mut stream, &[b"head", &answer], Duration::from_millis(500)).expect_err("too slow");
        assert!(matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{error}");
        drop(stream);
        reading.join().expect("no panic");
    }
}
