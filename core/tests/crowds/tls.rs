//! Many clients that connect over TLS at once, and servers that are slow because of it.

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::options;
use zkrecipes::{Client, ErrorKind, TlsOptions};

/// An authority whose key nobody has.
const CA: &str = "\
-----BEGIN CERTIFICATE-----\n\
MIIBeDCCAR+gAwIBAgIUcG6w0VyJ/+Aaju2chyecQOsJlxgwCgYIKoZIzj0EAwIw\n\
ETEPMA0GA1UEAwwGbm9ib2R5MCAXDTI2MTEyNTA4NTQzNFoYDzIxMjYxMTAxMDg1\n\
NDM0WjARMQ8wDQYDVQQDDAZub2JvZHkwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNC\n\
AARfRlFEk7buhWOn00s/IopszXWrhhstmco94iG1yxjdbie27lqXJwc2BY+/BGMh\n\
t2zx0Knfd5NGye2lMZ8X3APKo1MwUTAdBgNVHQ4EFgQU4OLG06tqxb5vLwwQ68Zl\n\
ADLMq4owHwYDVR0jBBgwFoAU4OLG06tqxb5vLwwQ68ZlADLMq4owDwYDVR0TAQH/\n\
BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiAIZ2xUtx6t2N+51i+hJcw8Z42OXc78\n\
WDRKCdCr1PxHzAIgdwUTqFu2FmwRAMdl/miUjfpVydKbYe/pQ1or5DTa7Ak=\n\
-----END CERTIFICATE-----\n\
";

/// Takes connections and never answers; its address, and how many wanted to begin a handshake.
fn silent() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let hosts = listener.local_addr().expect("bound").to_string();
    let handshakes = Arc::new(AtomicUsize::new(0));
    let begun = handshakes.clone();
    thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let begun = begun.clone();
            thread::spawn(move || {
                let mut first = [0];
                if socket.read(&mut first).is_ok_and(|length| length == 1) {
                    begun.fetch_add(1, Ordering::Relaxed);
                    let _ = socket.read_to_end(&mut Vec::new());
                }
            });
        }
    });
    (hosts, handshakes)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_many_wait_for_is_not_asked_by_each_of_them_what_is_wrong() {
    const CLIENTS: usize = 20;
    let (hosts, handshakes) = silent();
    let connecting = (0..CLIENTS).map(|_| {
        let mut options = options(Duration::from_secs(20)).tls(TlsOptions::default().ca(CA));
        // The attempt ends when the time is over. On a busy machine a client would make another one before it knows that.
        (options.retry.base, options.retry.max) = (Duration::from_secs(5), Duration::from_secs(5));
        let hosts = hosts.clone();
        tokio::spawn(
            async move { Client::connect(&hosts, options.connect_timeout(Duration::from_secs(3))).await },
        )
    });
    for connected in connecting.collect::<Vec<_>>() {
        let error = connected.await.expect("no panic").map(drop).expect_err("nobody answers");
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
        assert!(error.to_string().contains("it may be busy"), "{error}");
    }
    // One of each client, and a few of those who ask for all.
    let begun = handshakes.load(Ordering::Relaxed);
    assert!((CLIENTS..=CLIENTS + 3).contains(&begun), "{begun} handshakes of {CLIENTS} clients");
}
