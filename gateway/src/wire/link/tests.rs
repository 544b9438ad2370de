//! Starts that are counted, of servers that end when they are told to.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream},
    sync::{Semaphore, watch},
    task::JoinSet,
    time::advance,
};

use super::*;
use crate::{
    child::{FIRST_WAIT, STEADY},
    wire::{
        chain::{Answer, Call, Chain, Execute},
        outlet::outlet,
    },
};

/// A server that starts if it has a permit to, and fails to while `broken`.
struct Fake {
    starts: AtomicUsize,
    broken: watch::Sender<bool>,
    permits: Arc<Semaphore>,
    /// How many of the servers that were started are to have ended.
    ended: watch::Sender<usize>,
}

impl Launch for Arc<Fake> {
    fn launch(&self) -> Later<Result<Launched, String>> {
        let number = self.starts.fetch_add(1, Ordering::Relaxed) + 1;
        let fake = Arc::clone(self);
        Box::pin(async move {
            if *fake.broken.borrow() {
                return Err("no".to_owned());
            }
            fake.permits.acquire().await.unwrap().forget();
            let (near, far) = tokio::io::duplex(4096);
            tokio::spawn(serve(far));
            let (output, input) = tokio::io::split(near);
            Ok(Launched {
                input: Box::new(input),
                output: Box::new(output),
                life: Arc::new(Until {
                    number,
                    ended: fake.ended.subscribe(),
                }),
            })
        })
    }
}

async fn serve(stream: DuplexStream) {
    let (input, mut output) = tokio::io::split(stream);
    let mut lines = BufReader::new(input).lines();
    while let Some(line) = lines.next_line().await.unwrap() {
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        let result = match line["method"].as_str().unwrap() {
            "initialize" => r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#,
            "tools/list" => r#"{"tools":[]}"#,
            _ => continue,
        };
        let answer = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}\n",
            line["id"]
        );
        output.write_all(answer.as_bytes()).await.unwrap();
    }
}

struct Until {
    number: usize,
    ended: watch::Receiver<usize>,
}

impl Life for Until {
    fn ended(&self) -> Later<String> {
        let (number, mut ended) = (self.number, self.ended.clone());
        Box::pin(async move {
            let _no_sender = ended.wait_for(|ended| *ended >= number).await;
            "it ended".to_owned()
        })
    }

    fn stop(&self) -> Later<()> {
        Box::pin(async {})
    }
}

struct Open;

impl Chain for Open {
    fn answer(&self, call: Call, execute: Execute) -> Later<Answer> {
        execute(call)
    }
}

/// A link to such a server, which may start as often as it likes.
fn link(permits: usize) -> (Arc<Fake>, Arc<Link>, Arc<Hub>) {
    let fake = Arc::new(Fake {
        starts: AtomicUsize::new(0),
        broken: watch::Sender::new(false),
        permits: Arc::new(Semaphore::new(permits)),
        ended: watch::Sender::new(0),
    });
    let profile = Profile {
        name: "a".into(),
        timeout: Duration::from_mins(1),
        start_timeout: Duration::from_hours(1),
        max_message_bytes: 4096,
    };
    let link = Arc::new(Link::new(0, profile, Box::new(Arc::clone(&fake))));
    let (client, _writer) = outlet();
    let hub = Hub::new(
        vec![Arc::clone(&link)],
        client,
        Arc::new(Open),
        Box::new(|_| ()),
    );
    (fake, link, hub)
}

impl Fake {
    fn count(&self) -> usize {
        self.starts.load(Ordering::Relaxed)
    }

    /// Ends the last server that was started.
    async fn end(&self, session: &Session) {
        self.ended.send_replace(self.count());
        session.gone().await;
    }
}

#[tokio::test]
async fn many_wait_for_one_start_and_get_the_same() {
    let (fake, link, hub) = link(0);
    let mut waiting = JoinSet::new();
    for _ in 0..64 {
        let (link, hub) = (Arc::clone(&link), Arc::clone(&hub));
        waiting.spawn(async move { link.session(&hub).await.unwrap() });
        tokio::task::yield_now().await;
    }
    assert!(link.running().is_none());
    fake.permits.add_permits(1);
    let all = waiting.join_all().await;
    assert!(all.iter().all(|one| Arc::ptr_eq(one, &all[0])));
    assert_eq!((all.len(), fake.count()), (64, 1));
}

#[tokio::test]
async fn a_start_goes_on_when_its_first_caller_does_not() {
    let (fake, link, hub) = link(0);
    let first = tokio::spawn({
        let (link, hub) = (Arc::clone(&link), Arc::clone(&hub));
        async move { link.session(&hub).await.map(drop) }
    });
    tokio::task::yield_now().await;
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    fake.permits.add_permits(1);
    link.session(&hub).await.unwrap();
    assert_eq!(fake.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn it_is_started_again_after_its_end_and_ever_later_if_it_does_not_stay() {
    let (fake, link, hub) = link(100);
    let refused = || async { link.session(&hub).await.unwrap_err().to_string() };
    let first = link.session(&hub).await.unwrap();
    fake.end(&first).await;
    let second = link.session(&hub).await.unwrap();
    assert_eq!(fake.count(), 2, "the first end costs no wait");
    assert!(Arc::ptr_eq(&second, &link.session(&hub).await.unwrap()));
    fake.end(&second).await;
    let error = refused().await;
    let resting = "it ended; it is not started again for another 0.5 s, after 2 faults in a row";
    assert!(error.contains(resting), "{error}");
    advance(FIRST_WAIT).await;
    fake.broken.send_replace(true);
    let error = refused().await;
    assert!(error.ends_with("no"), "{error}");
    let error = refused().await;
    let resting = "no; it is not started again for another 1.0 s, after 3 faults in a row";
    assert!(error.contains(resting), "{error}");
    assert_eq!(fake.count(), 3);
    advance(FIRST_WAIT * 2).await;
    fake.broken.send_replace(false);
    let steady = link.session(&hub).await.unwrap();
    advance(STEADY).await;
    fake.end(&steady).await;
    let after = link.session(&hub).await.unwrap();
    fake.end(&after).await;
    link.session(&hub).await.unwrap();
    assert_eq!(fake.count(), 6, "a steady run forgets all faults");
}

#[tokio::test]
async fn stopping_breaks_off_and_allows_no_other_start() {
    let (fake, link, hub) = link(0);
    let waiting = tokio::spawn({
        let (link, hub) = (Arc::clone(&link), Arc::clone(&hub));
        async move { link.session(&hub).await.map(drop) }
    });
    tokio::task::yield_now().await;
    link.stop().await;
    assert!(matches!(waiting.await.unwrap(), Err(Failure::Stopping)));
    let again = link.session(&hub).await;
    assert!(matches!(again, Err(Failure::Stopping)));
    assert_eq!(fake.count(), 1);
}
