//! The Rust worker of the crowd of candidates; tests/crowds/README.md says what a worker does.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use zkrecipes::{Client, ClientOptions, ErrorKind, Leadership};

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [hosts, path, name, count, port, session] = &arguments[..] else {
        return Err("usage: election-worker HOSTS PATH NAME COUNT PORT SESSION".into());
    };
    let port: u16 = port.parse()?;
    let options = ClientOptions::default()
        .session_timeout(Duration::from_millis(session.parse()?))
        .connect_timeout(Duration::from_secs(60));
    let client = Client::connect(hosts, options).await?;
    let mut candidates = Vec::new();
    for number in 1..=count.parse::<usize>()? {
        let name = format!("{name}-{number}");
        let election = client.election(path, name.as_bytes(), Default::default())?;
        candidates.push(tokio::spawn(async move {
            election.run(|leadership| lead(leadership, port, name.clone())).await
        }));
    }
    tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new())).await??;
    client.close(None).await?;
    for candidate in candidates {
        match candidate.await? {
            Err(error) if error.kind() != ErrorKind::Closed => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

async fn lead(leadership: Leadership, port: u16, name: String) -> Outcome<()> {
    leadership.acknowledge(name.as_bytes()).await?;
    let epoch = leadership.epoch();
    for _ in 0..1 + epoch % 5 {
        if !leadership.is_held() {
            break;
        }
        let (name, stream) = (name.clone(), TcpStream::connect(("127.0.0.1", port))?);
        tokio::task::spawn_blocking(move || act(stream, epoch, &name)).await??;
    }
    Ok(())
}

fn act(mut stream: TcpStream, epoch: u64, name: &str) -> Outcome<()> {
    stream.write_all(format!("{epoch} {name}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    if answer == "ok\n" { Ok(()) } else { Err("refused".into()) }
}
