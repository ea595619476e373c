//! Our members of a double barrier, for `bench/double_barrier/run.py`.
//!
//!     zkrecipes-bench-double-barrier HOSTS PATH MEMBERS
//!
//! Each member has a session of its own. For every line that comes in they all enter and all leave; the answer is how
//! many nanoseconds each of the two took, from the first call to the last return.

use std::io::stdin;
use std::time::Instant;

use zkrecipes::{Client, DoubleBarrier, Error, ErrorKind, Result};

// One thread of its own is enough beside those of the library: what takes time is not here.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [hosts, path, members] = &arguments[..] else { return Err(usage()) };
    let parties: usize = members.parse().map_err(|_| usage())?;
    let (mut clients, mut members) = (Vec::new(), Vec::new());
    for _ in 0..parties {
        let client = Client::connect(hosts, Default::default()).await?;
        members.push(client.double_barrier(path, parties, None)?);
        clients.push(client);
    }
    println!("ready");
    for _ in stdin().lines().map_while(std::io::Result::ok) {
        let entered = all(&members, true).await?;
        let left = all(&members, false).await?;
        println!("{entered} {left}");
    }
    for client in clients {
        client.close(None).await?;
    }
    Ok(())
}

fn usage() -> Error {
    Error::new(ErrorKind::Invalid, "usage: zkrecipes-bench-double-barrier HOSTS PATH MEMBERS")
}

async fn all(members: &[DoubleBarrier], enter: bool) -> Result<u128> {
    let begun = Instant::now();
    let moves = members.iter().cloned().map(|member| {
        tokio::spawn(async move {
            match enter {
                true => member.enter(None).await,
                false => member.leave(None).await,
            }
        })
    });
    for moved in moves.collect::<Vec<_>>() {
        moved.await.expect("a member does not panic")?;
    }
    Ok(begun.elapsed().as_nanos())
}
