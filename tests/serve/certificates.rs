//! Another certificate, without a restart and without a connection or a handshake lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use super::{ENFORCE, Running, Talk, UID, client, options, review, soon, start, until};
use jobshape::edges::serve::{Options, Tls};
use rcgen::{CertificateParams, KeyPair};
use std::os::unix::fs::symlink;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

const NAME: &str = "jobshape.jobshape.svc";
const FAILING: &str = "jobshape_reload_failing{source=\"certificate\"}";
const FAILED: &str = "jobshape_reloads_total{result=\"failed\",source=\"certificate\"}";
const RELOADED: &str = "jobshape_reloads_total{result=\"ok\",source=\"certificate\"}";

/// A certificate that vouches for itself, and its key.
pub fn pair(name: &str) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([name.to_owned()]).unwrap();
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

/// The same, and its time is over.
fn expired() -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([NAME.to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    (params.self_signed(&key).unwrap().pem(), key.serialize_pem())
}

/// A folder with the two files in it.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, (cert, key): &(String, String)) {
        fs::write(self.at("tls.crt"), cert).unwrap();
        fs::write(self.at("tls.key"), key).unwrap();
    }

    /// A mounted Secret, as the kubelet makes one and replaces it.
    fn mount(&self, number: usize, (cert, key): &(String, String)) {
        let version = format!("..{number}");
        fs::create_dir(self.at(&version)).unwrap();
        fs::write(self.at(&version).join("tls.crt"), cert).unwrap();
        fs::write(self.at(&version).join("tls.key"), key).unwrap();
        symlink(&version, self.at("..data_tmp")).unwrap();
        let old = fs::read_link(self.at("..data"));
        fs::rename(self.at("..data_tmp"), self.at("..data")).unwrap();
        for file in ["tls.crt", "tls.key"] {
            if !self.at(file).exists() {
                symlink(Path::new("..data").join(file), self.at(file)).unwrap();
            }
        }
        if let Ok(old) = old {
            fs::remove_dir_all(self.0.path().join(old)).unwrap();
        }
    }

    fn serve(&self) -> Running {
        let (cert, key) = (self.at("tls.crt"), self.at("tls.key"));
        let mut options = Options { tls: Tls::Files { cert, key }, ..options() };
        options.limits.header = Duration::from_secs(120);
        start(options)
    }
}

/// The certificate that a new handshake gets, by whoever trusts both.
async fn shown(server: &Running, trusted: &[&str]) -> Vec<u8> {
    let client = client(trusted, None);
    let stream = server.handshake(&client, NAME).await.unwrap();
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

fn der(pem: &str) -> Vec<u8> {
    use rustls::pki_types::pem::PemObject;
    rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap().to_vec()
}

async fn kept(server: &Running, cert: &str) -> Talk<TlsStream<TcpStream>> {
    Talk(server.handshake(&client(&[cert], None), NAME).await.unwrap())
}

async fn assert_answered(talk: &mut Talk<TlsStream<TcpStream>>) {
    talk.post(ENFORCE, review(0).as_bytes()).await;
    assert_eq!(talk.reply().await.response()["uid"], UID);
}

/// Replaces the pair a hundred times, while a client connects all along.
async fn a_hundred_times(replace: impl Fn(&Files, usize, &(String, String))) {
    let files = Files::new();
    let pairs: Vec<_> = (0..4).map(|_| pair(NAME)).collect();
    let trusted: Vec<&str> = pairs.iter().map(|(cert, _)| cert.as_str()).collect();
    replace(&files, 0, &pairs[0]);
    let server = files.serve();
    let mut old = kept(&server, trusted[0]).await;
    let (over, handshakes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
    let connecting = {
        let (client, address) = (client(&trusted, None), server.webhook);
        let (over, handshakes) = (Arc::clone(&over), Arc::clone(&handshakes));
        tokio::spawn(async move {
            while !over.load(Ordering::Relaxed) {
                let stream = soon(TcpStream::connect(address)).await.unwrap();
                let name = rustls::pki_types::ServerName::try_from(NAME).unwrap();
                soon(client.connect(name, stream)).await.expect("a handshake failed");
                handshakes.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    for number in 1..=100 {
        replace(&files, number, &pairs[number % pairs.len()]);
        let expected = der(trusted[number % pairs.len()]);
        until(async || shown(&server, &trusted).await == expected).await;
        assert_answered(&mut old).await;
    }
    over.store(true, Ordering::Relaxed);
    soon(connecting).await.unwrap();
    assert!(handshakes.load(Ordering::Relaxed) >= 100);
    assert_eq!(server.metric(RELOADED).await, Some(100.0));
    assert_eq!(server.metric(FAILING).await, Some(0.0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swapped_by_the_kubelet() {
    a_hundred_times(|files, number, pair| files.mount(number, pair)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn written_over() {
    a_hundred_times(|files, _, pair| files.write(pair)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleted_and_made_anew() {
    a_hundred_times(|files, _, pair| {
        let _ = fs::remove_file(files.at("tls.crt"));
        let _ = fs::remove_file(files.at("tls.key"));
        files.write(pair);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moved_over() {
    a_hundred_times(|files, _, (cert, key)| {
        for (name, text) in [("tls.key", key), ("tls.crt", cert)] {
            fs::write(files.at("new"), text).unwrap();
            fs::rename(files.at("new"), files.at(name)).unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_used_changes_nothing_and_shows() {
    let files = Files::new();
    let (good, next, other) = (pair(NAME), pair(NAME), pair(NAME));
    files.write(&good);
    let server = files.serve();
    let mut failed = 0.0;
    let end = server.metric("jobshape_certificate_not_after_seconds").await;
    let broken: [&dyn Fn(); 7] = [
        &|| files.write(&expired()),
        &|| fs::write(files.at("tls.crt"), "garbage").unwrap(),
        &|| files.write(&(next.0.clone(), other.1.clone())),
        &|| files.write(&(next.0.clone(), next.1[..60].to_owned())),
        &|| fs::write(files.at("tls.key"), "").unwrap(),
        &|| fs::remove_file(files.at("tls.crt")).unwrap(),
        &|| fs::write(files.at("tls.crt"), &next.0[..next.0.len() / 2]).unwrap(),
    ];
    for (number, spoil) in broken.iter().enumerate() {
        spoil();
        failed += 1.0;
        server.until_metric(FAILED, failed).await;
        assert_eq!(server.metric(FAILING).await, Some(1.0), "{number}");
        assert_eq!(shown(&server, &[&good.0]).await, der(&good.0), "{number}");
        assert_eq!(server.get("/readyz").await.status, 200, "{number}");
        // Said once for the same content, however often it is looked at.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(server.metric(FAILED).await, Some(failed), "{number}");
        files.write(&good);
        server.until_metric(FAILING, 0.0).await;
    }
    assert_eq!(server.metric(RELOADED).await, Some(0.0), "nothing new was there to use");
    assert_eq!(server.metric("jobshape_certificate_not_after_seconds").await, end);
    files.write(&next);
    until(async || shown(&server, &[&good.0, &next.0]).await == der(&next.0)).await;
    assert_eq!(server.metric(RELOADED).await, Some(1.0));
}

#[tokio::test]
async fn an_expired_one_is_not_ready_and_still_served() {
    let files = Files::new();
    let (old, key) = expired();
    files.write(&(old.clone(), key));
    let server = files.serve();
    until(async || server.get("/readyz").await.body == "the certificate has expired\n").await;
    let end = server.metric("jobshape_certificate_not_after_seconds").await;
    assert_eq!(end, Some(1_609_459_200.0));
    // Its clients refuse it, and it is theirs to say.
    assert!(server.handshake(&client(&[&old], None), NAME).await.is_err());
    let series = "jobshape_handshake_errors_total{reason=\"bad_certificate\"}";
    server.until_metric(series, 1.0).await;
}
