//! A proxy that adds a time to every byte, each way: what a network does. It shows round trips rather than CPU.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Prints "ready port=N" and serves for ever.
pub fn serve(upstream: &str, milliseconds: u64) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    println!("ready port={}", listener.local_addr().expect("an address").port());
    let delay = Duration::from_millis(milliseconds);
    for client in listener.incoming().flatten() {
        let Ok(server) = TcpStream::connect(upstream) else { continue };
        for (from, to) in [(&client, &server), (&server, &client)] {
            let (from, to) = (from.try_clone().expect("cloned"), to.try_clone().expect("cloned"));
            to.set_nodelay(true).expect("an option of TCP");
            carry(from, to, delay);
        }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    let (sender, receiver) = channel::<(Instant, Vec<u8>)>();
    thread::spawn(move || {
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(length @ 1..) = from.read(&mut buffer) {
            if sender.send((Instant::now() + delay, buffer[..length].to_vec())).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        for (due, bytes) in receiver {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&bytes).is_err() {
                break;
            }
        }
        // Either way: the other direction has nothing to wait for then.
        let _ = to.shutdown(Shutdown::Both);
    });
}
