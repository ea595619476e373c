//! Whatever is said at the most verbose level, by us and by what we stand on: no secret is in it. TLS and SASL need the
//! servers that `tests/secure/run.py` starts.

use std::fmt::{Debug, Write};
use std::sync::Mutex;
use std::time::Duration;

use crate::support::{is_run_elsewhere, lock_of, options, server, soon};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use zkrecipes::{AclChoice, Auth, Client, ClientOptions, CreateMode, SaslOptions, TlsOptions};

const PLANTED: &str = "planted-hunter2";

static SAID: Mutex<String> = Mutex::new(String::new());

/// Hears events and spans of everybody, with all their fields, and what goes to the crate `log`.
struct Everything;

struct Line<'a>(&'a mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        writeln!(self.0, "{field}={value:?} {value:#?}").expect("a String takes everything");
    }
}

impl Subscriber for Everything {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Line(&mut SAID.lock().expect("no panic")));
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Line(&mut SAID.lock().expect("no panic")));
    }
    fn event(&self, event: &Event<'_>) {
        event.record(&mut Line(&mut SAID.lock().expect("no panic")));
    }
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl log::Log for Everything {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        say(record.args());
    }
    fn flush(&self) {}
}

fn say(what: impl Debug) {
    writeln!(SAID.lock().expect("no panic"), "{what:?} {what:#?}").expect("a String takes everything");
}

/// Connects, works, and says all that can be said of it.
async fn live(hosts: &str, options: ClientOptions) {
    say(&options);
    match soon("connecting", Client::connect(hosts, options)).await {
        Ok(client) => {
            let lock = lock_of(&client, &format!("/said-{:x}", client.session_id()));
            let held = soon("the lock", lock.acquire()).await;
            say((&client, &lock, &held, client.nodes()));
            if let Ok(held) = held {
                say(held.release().await);
            }
            say(client.nodes().create("/said", b"", CreateMode::Persistent).await);
            say(client.close(None).await);
        }
        Err(error) => {
            say(error.to_string());
            say(error);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_said() {
    if is_run_elsewhere("secrets::no_secret_is_said", |_| {}) {
        return;
    }
    tracing::subscriber::set_global_default(Everything).expect("nobody else listens");
    log::set_logger(&Everything).expect("nobody else listens");
    log::set_max_level(log::LevelFilter::Trace);
    let ours = || options(Duration::from_secs(10));
    let auth = || Auth::new("digest", format!("user:{PLANTED}"));
    let sasl = |word: &str| SaslOptions::new("me", word);

    let embedded = server();
    live(&embedded.connect_string(), ours().auth(auth())).await;
    live(&embedded.connect_string(), ours().sasl(sasl(PLANTED))).await;
    live("zk.example.org", ours().auth(auth())).await;
    live("zk.example.org", ours().acl(AclChoice::Creator).auth(Auth::new("", PLANTED))).await;
    let key = format!("-----BEGIN PRIVATE KEY-----\n{PLANTED}\n-----END PRIVATE KEY-----\n");
    live("zk.example.org", ours().tls(TlsOptions::default().ca(&key).cert(&key).key(&key))).await;

    // As it looks when the first line was not copied.
    let headless = key.split_once('\n').expect("several lines").1;
    live("zk.example.org", ours().tls(TlsOptions::default().ca(headless).cert(&key).key(headless))).await;
    for hosts in [
        format!("me:{PLANTED}@zk.example.org:2181"),
        format!("zk://me:{PLANTED}@zk1,me:{PLANTED}@zk2/app"),
        format!("zk.example.org:2181?password={PLANTED}"),
        format!("digest:me:{PLANTED}"),
    ] {
        live(&hosts, ours()).await;
    }

    let mut secrets = vec![PLANTED.to_owned(), format!("{:?}", PLANTED.as_bytes()).replace(['[', ']'], "")];
    if let Ok(folder) = std::env::var("ZKR_SECURE_DIR") {
        let of = |name: &str| std::env::var(format!("ZKR_SECURE_{name}")).expect("with the folder");
        let read = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).expect("it is there");
        let tls = |who: &str| {
            let tls = TlsOptions::default().ca(read("ca.pem"));
            tls.cert(read(&format!("{who}.pem"))).key(read(&format!("{who}.key")))
        };
        for who in ["client", "stranger", "expired"] {
            live(&of("TLS_39"), ours().tls(tls(who)).auth(auth()).sasl(sasl(PLANTED))).await;
            secrets.extend(
                read(&format!("{who}.key")).lines().filter(|line| !line.contains("--")).map(str::to_owned),
            );
        }
        live(&of("PLAIN_38"), ours().sasl(sasl(PLANTED))).await;
        live(&of("PLAIN_39"), ours().sasl(sasl(&PLANTED.repeat(2)))).await;
        live(&of("PLAIN_39"), ours().tls(tls("client"))).await;
        live(&of("OPEN"), ours().sasl(sasl(PLANTED))).await;
    }
    let said = std::mem::take(&mut *SAID.lock().expect("no panic"));
    assert!(
        said.contains("connected to ZooKeeper") && said.contains("SaslOptions"),
        "somebody listened: {said}"
    );
    for secret in secrets {
        let told = said.lines().find(|line| line.contains(&secret));
        assert!(told.is_none(), "{secret}: {told:?}");
    }
}
