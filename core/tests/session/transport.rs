//! What travels: in which order a server may answer, and in how many pieces a client asks.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use zkrecipes::{Auth, Client, ClientOptions};
use zkrecipes_protocol::frame_length;

/// As a server with Netty may: so many times the first two answers change places.
struct Disorder {
    left: AtomicUsize,
    hosts: String,
}

fn frame(from: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let bytes = frame_length(length, 1 << 20).map_err(|_| io::ErrorKind::InvalidData)?;
    let mut frame = vec![0; bytes];
    from.read_exact(&mut frame)?;
    Ok([&length[..], &frame[..]].concat())
}

impl Disorder {
    fn begin(server: &str, times: usize) -> Arc<Disorder> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let hosts = listener.local_addr().expect("bound").to_string();
        let disorder = Arc::new(Disorder { left: AtomicUsize::new(times), hosts });
        let (server, disorderly) = (server.to_owned(), disorder.clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, disorder) = (server.clone(), disorderly.clone());
                thread::spawn(move || disorder.pass(client, &server));
            }
        });
        disorder
    }

    fn pass(&self, client: TcpStream, server: &str) -> io::Result<()> {
        let mut server = TcpStream::connect(server)?;
        let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            to.shutdown(Shutdown::Both)
        });
        let mut client = client;
        let mut answers = [frame(&mut server)?, frame(&mut server)?];
        let take = |left: usize| left.checked_sub(1);
        if self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok() {
            answers.reverse();
        }
        client.write_all(&answers.concat())?;
        io::copy(&mut server, &mut client).map(drop)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_may_be_answered_before_there_is_a_session() {
    let server = crate::support::server();
    let disorder = Disorder::begin(&server.connect_string(), 8);
    let options = ClientOptions::default().auth(Auth::new("digest", "user:password"));
    let client = Client::connect(&disorder.hosts, options).await.expect("in time");
    assert_eq!(disorder.left.load(Ordering::SeqCst), 7, "one connection is enough");
    client.close(None).await.expect("closed");
}

/// Passes everything on, and counts in how many pieces a client's requests come.
struct Pieces {
    come: AtomicUsize,
    hosts: String,
}

impl Pieces {
    fn begin(server: &str) -> Arc<Pieces> {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let hosts = listener.local_addr().expect("bound").to_string();
        let pieces = Arc::new(Pieces { come: AtomicUsize::new(0), hosts });
        let (server, counted) = (server.to_owned(), pieces.clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let (server, pieces) = (server.clone(), counted.clone());
                thread::spawn(move || pieces.pass(client, &server));
            }
        });
        pieces
    }

    fn pass(&self, mut client: TcpStream, server: &str) -> io::Result<()> {
        let mut server = TcpStream::connect(server)?;
        server.set_nodelay(true)?;
        let (mut from, mut to) = (server.try_clone()?, client.try_clone()?);
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            to.shutdown(Shutdown::Both)
        });
        let mut piece = [0; 1 << 16];
        loop {
            match client.read(&mut piece)? {
                0 => return server.shutdown(Shutdown::Write),
                bytes => server.write_all(&piece[..bytes])?,
            }
            self.come.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// Each piece wakes the server, and has its way through the network.
#[test]
fn what_is_asked_in_one_go_leaves_in_one_piece() {
    const TIMES: usize = 50;
    let server = crate::support::server();
    let pieces = Pieces::begin(&server.connect_string());
    let client =
        zkrecipes::blocking::Client::connect(&pieces.hosts, ClientOptions::default()).expect("connected");
    let lock = client.lock("/locks/pieces", Default::default()).expect("a path");
    let mut by_session = Vec::new();
    for _ in 0..2 {
        let before = pieces.come.load(Ordering::SeqCst);
        for _ in 0..TIMES {
            lock.acquire().expect("free").release().expect("released");
        }
        by_session.push(pieces.come.load(Ordering::SeqCst) - before);
    }
    client.close(None).expect("closed");
    // A create and a list leave together, and a deletion; the session says something of its own now and then.
    let most = 2 * TIMES + 10;
    assert!(by_session[1] <= most, "{by_session:?} pieces for {TIMES} locks each");
}
