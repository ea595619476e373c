//! TLS, SASL and mutual TLS with real servers, which `tests/secure/run.py` starts; without them there is nothing to test.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{eventually, lock_of, options, soon};
use zkrecipes::{
    AclChoice, Auth, Client, ClientOptions, CreateMode, Error, ErrorKind, SaslOptions, State, TlsOptions,
};

const TEN: Duration = Duration::from_secs(10);

/// The servers, by what they are for; `None` if nobody has started them.
fn servers(name: &str) -> Option<String> {
    std::env::var(format!("ZKR_SECURE_{name}")).ok()
}

/// The password of the user `me`.
fn secret() -> String {
    servers("SECRET").expect("with the servers")
}

fn file(name: &str) -> String {
    format!("{}/{name}", servers("DIR").expect("with the servers"))
}

fn trusting(ca: &str) -> TlsOptions {
    TlsOptions::default().ca(file(&format!("{ca}.pem")))
}

/// As the client `name` of the certificates.
fn showing(name: &str) -> TlsOptions {
    trusting("ca").cert(file(&format!("{name}.pem"))).key(file(&format!("{name}.key")))
}

fn over(tls: TlsOptions) -> ClientOptions {
    options(TEN).tls(tls)
}

async fn connect(hosts: &str, options: ClientOptions) -> Result<Client, Error> {
    soon("connecting", Client::connect(hosts, options)).await
}

/// A lock taken and released, below what nobody else has made.
async fn works(hosts: &str, options: ClientOptions) {
    let client = connect(hosts, options).await.unwrap_or_else(|error| panic!("{hosts}: {error}"));
    let path = format!("/secure-{:x}", client.session_id());
    let held = soon("the lock", lock_of(&client, &path).acquire()).await.expect("free");
    held.verify().await.expect("held");
    held.release().await.expect("released");
    client.close(None).await.expect("closed");
}

/// Refused at once, with a text that has these words.
async fn refused(hosts: &str, options: ClientOptions, words: &[&str]) {
    let begun = Instant::now();
    let error = connect(hosts, options).await.map(drop).expect_err(hosts);
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    assert!(words.iter().all(|word| error.to_string().contains(word)), "{words:?}: {error}");
    assert!(begun.elapsed() < Duration::from_secs(5), "after {:?}: {error}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn locks_are_taken_over_tls() {
    for name in ["TLS_38", "TLS_39"] {
        let Some(hosts) = servers(name) else { return };
        works(&hosts, over(showing("client"))).await;
        works(&hosts.replace("127.0.0.1", "localhost"), over(showing("client"))).await;
        let read = |name| fs::read_to_string(file(name)).expect("it is there");
        let memory =
            TlsOptions::default().ca(read("ca.pem")).cert(read("client.pem")).key(read("client.key"));
        works(&hosts, over(memory)).await;
    }
    // Only those of the ensemble ask who we are.
    works(&servers("TLS_38").expect("as above"), over(trusting("ca"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_cannot_be_trusted_is_refused_with_the_reason() {
    let Some(good) = servers("TLS_38") else { return };
    let of = |name| servers(name).expect("with the others");
    refused(&good, over(trusting("other")), &["signed by an authority", "tls.ca", &good]).await;
    refused(&of("TLS_39"), over(trusting("other")), &["signed by an authority", "tls.ca"]).await;
    refused(&of("EXPIRED"), over(trusting("ca")), &["has expired", "days ago"]).await;
    refused(&of("ALONE"), over(trusting("ca")), &["self-signed", "tls.ca"]).await;
    refused(&of("ELSEWHERE"), over(trusting("ca")), &["zk.example.org", "tls.verify_hostname"]).await;
    // What is wrong is not let pass by another option than its own.
    let anywhere = |ca| over(trusting(ca).verify_hostname(false));
    works(&of("ELSEWHERE"), anywhere("ca")).await;
    works(&of("ALONE"), over(trusting("alone"))).await;
    refused(&of("ELSEWHERE"), anywhere("other"), &["signed by an authority"]).await;
    refused(&of("EXPIRED"), anywhere("ca"), &["has expired"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn revocation_lists_count_until_their_time_has_passed() {
    for name in ["TLS_38", "TLS_39"] {
        let Some(hosts) = servers(name) else { return };
        let with = |lists| showing("client").ca(file(lists));
        works(&hosts, over(with("lists.pem"))).await;
        refused(&hosts, over(with("old-lists.pem")), &["revocation list", "tls.allow_expired_crls"]).await;
        works(&hosts, over(with("old-lists.pem").allow_expired_crls(true))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plain_text_port_is_told_from_a_bad_certificate() {
    for name in ["PLAIN_38", "PLAIN_39"] {
        let Some(plain) = servers(name) else { return };
        refused(&plain, over(trusting("ca")), &["plain text", "option tls"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_that_ask_who_we_are_are_told_or_say_so() {
    let Some(hosts) = servers("TLS_39") else { return };
    refused(&hosts, over(trusting("ca")), &["tls.cert"]).await;
    refused(&hosts, over(showing("stranger")), &["our certificate", "tls.cert"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_good_server_of_several_is_enough() {
    let (Some(good), Some(bad)) = (servers("TLS_38"), servers("EXPIRED")) else { return };
    for _ in 0..5 {
        works(&format!("{bad},{good}"), over(trusting("ca"))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn while_a_server_is_silent_the_reason_of_another_is_told_at_the_end_only() {
    let Some(bad) = servers("EXPIRED") else { return };
    // The first hand-shake of a server takes longer than all others.
    connect(&bad, over(trusting("ca"))).await.map(drop).expect_err("it has expired");
    let timeout = Duration::from_secs(10);
    let begun = Instant::now();
    let patient = over(trusting("ca")).connect_timeout(timeout);
    let error = connect(&format!("{bad},127.0.0.1:1"), patient).await.map(drop).expect_err("none is good");
    assert!(error.kind() == ErrorKind::Denied && error.to_string().contains("has expired"), "{error}");
    assert!(begun.elapsed() >= timeout, "the other one may be back in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_is_refused_before_anybody_is_asked() {
    let Some(good) = servers("TLS_38") else { return };
    let mismatched = trusting("ca").cert(file("client.pem")).key(file("stranger.key"));
    for (tls, option) in [
        (TlsOptions::default(), "tls.ca"),
        (trusting("nobody"), "tls.ca"),
        (TlsOptions::default().ca(file("ca.key")), "tls.ca"),
        (mismatched, "tls.key"),
    ] {
        let error = connect(&good, over(tls)).await.map(drop).expect_err(option);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(option), "{option}: {error}");
    }
    let error = connect("a_b!:1", over(trusting("ca"))).await.map(drop).expect_err("no name");
    assert!(error.kind() == ErrorKind::Invalid && error.to_string().contains("hosts"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sasl_says_who_we_are_and_a_wrong_password_is_refused() {
    for name in ["PLAIN_38", "PLAIN_39"] {
        let Some(hosts) = servers(name) else { return };
        let sasl = |user: &str, password: &str| options(TEN).sasl(SaslOptions::new(user, password));
        works(&hosts, sasl("me", &secret())).await;
        refused(&hosts, sasl("me", "wrong"), &["sasl"]).await;
        // Some servers of 3.8 take whoever they do not know for somebody, if the password is somebody's.
        refused(&hosts, sasl("nobody", "wrong"), &["sasl"]).await;

        let path = format!("/of-{}", std::process::id());
        let owner = connect(&hosts, sasl("me", &secret())).await.expect("known");
        owner.nodes().create(&path, b"mine", CreateMode::Persistent).await.expect("created");
        let again = connect(&hosts, sasl("me", &secret())).await.expect("known");
        assert_eq!(again.nodes().get(&path).await.expect("ours").0, b"mine");
        for stranger in [sasl("you", "other"), options(TEN)] {
            let stranger = connect(&hosts, stranger).await.expect("known");
            let error = stranger.nodes().get(&path).await.expect_err("not theirs");
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        }
        again.nodes().delete(&path, None).await.expect("ours");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_know_who_we_are_gets_no_node_of_ours() {
    let Some(hosts) = servers("OPEN") else { return };
    let client =
        connect(&hosts, options(TEN).sasl(SaslOptions::new("me", secret()))).await.expect("it lets all in");
    let acquiring = lock_of(&client, "/secure/unknown").acquire();
    let error = soon("the lock", acquiring).await.map(drop).expect_err("nobody's");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("sasl"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_all_kinds_go_together() {
    let Some(hosts) = servers("TLS_39") else { return };
    let auth = Auth::new("digest", format!("user:{}", secret()));
    works(&hosts, over(showing("client")).auth(auth).sasl(SaslOptions::new("me", secret()))).await;
    // A certificate is an identity as well.
    works(&hosts, over(showing("client")).acl(AclChoice::Creator)).await;
}

/// A server may answer a credential before it has answered that there is a session.
#[tokio::test(flavor = "multi_thread")]
async fn many_who_connect_with_credentials_at_once_all_get_in() {
    for name in ["TLS_38", "TLS_39", "PLAIN_39"] {
        let Some(hosts) = servers(name) else { return };
        let connecting = (0..12).map(|number| {
            let auth = Auth::new("digest", format!("user:{}", secret()));
            let base = if name.starts_with("TLS") { over(showing("client")) } else { options(TEN) };
            // On a busy machine handshakes take their time.
            let base = base.connect_timeout(6 * TEN);
            let sasl = SaslOptions::new("me", secret());
            let given = match number % 3 {
                0 => base.auth(auth),
                1 => base.sasl(sasl),
                _ => base.auth(auth).sasl(sasl),
            };
            let hosts = hosts.clone();
            tokio::spawn(async move {
                let client = Client::connect(&hosts, given).await?;
                client.nodes().exists("/").await?;
                assert_eq!(client.metrics().suspensions, 0, "the first connection was the last");
                client.close(None).await
            })
        });
        for (number, connected) in connecting.collect::<Vec<_>>().into_iter().enumerate() {
            let connected = soon("connecting", connected).await.expect("no panic");
            connected.unwrap_or_else(|error| panic!("{name}, {number}: {error}"));
        }
    }
}

/// A server of our own with a secure port; it ends with us.
struct Server(Child);

impl Server {
    /// The server, and its secure port.
    fn start() -> (Server, String) {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/zookeeper/zookeeper.py");
        let mut command = Command::new("python3");
        command.arg(program).args(["run", "3.9", "--tls"]).arg(servers("DIR").expect("as above"));
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 runs");
        let mut server = Server(child);
        let line = server.line();
        let hosts = line.strip_prefix("ready ").expect("it starts; its last words are above");
        (server, hosts.split(' ').nth(1).expect("a secure port").to_owned())
    }

    fn line(&mut self) -> String {
        // It says one line at a time.
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().expect("piped")).read_line(&mut line).expect("an answer");
        line.trim().to_owned()
    }

    fn told(&mut self, word: &str) {
        writeln!(self.0.stdin.as_mut().expect("piped"), "{word}").expect("it listens");
        assert_eq!(self.line(), "ok", "{word}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_read_anew_for_each_session_and_a_refusal_reaches_who_waits_for_one() {
    if servers("DIR").is_none() {
        return;
    }
    let (mut server, hosts) = Server::start();
    let ours = file(&format!("changing-{}.pem", std::process::id()));
    let trust = |ca: &str| fs::copy(file(ca), &ours).expect("copied");
    trust("ca.pem");
    let short = options(Duration::from_secs(1)).tls(TlsOptions::default().ca(&ours));
    let client = connect(&hosts, short).await.expect("the server answers");
    server.told("stop");
    trust("other.pem");
    eventually("the session is lost", || client.state() == State::Lost).await;
    server.told("start");
    let acquire = || soon("the lock", lock_of(&client, "/renewed").acquire());
    let error = acquire().await.map(drop).expect_err("whom it does not trust");
    assert!(error.kind() == ErrorKind::Denied && error.to_string().contains("tls.ca"), "{error}");
    trust("ca.pem");
    eventually("there is a session again", || client.state() == State::Connected).await;
    acquire().await.expect("free").release().await.expect("released");
    client.close(None).await.expect("closed");
}
