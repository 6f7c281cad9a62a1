//! What somebody deletes or overwrites.

use serde_json::{Value, json};

use super::stage::{AUTHORITY, Rotator, Stage, TLS, cluster, text};
use crate::apiserver::Method;

async fn good() -> (Stage<'static>, Rotator) {
    let stage = Stage::new(cluster().await, "destroyed").await;
    stage.apply(&stage.configuration(&[1, 2]), &[]);
    let rotator = stage.rotator("one", &[]);
    let is_good = async || stage.trusts(1).await && !stage.certificate().await.is_empty();
    stage.until("a certificate", &rotator, is_good).await;
    (stage, rotator)
}

/// Waits for a certificate that is another one than this.
async fn another(stage: &Stage<'_>, rotator: &Rotator, before: &str) -> Value {
    let is_new = async || {
        let now = stage.certificate().await;
        now.contains("BEGIN CERTIFICATE") && now != before
    };
    stage.until("another certificate", rotator, is_new).await;
    stage.secret(TLS).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_deleted_or_nonsense_is_made_anew() {
    let (stage, rotator) = good().await;
    let bundle = stage.bundles().await.remove(0);
    let mut before = stage.certificate().await;
    stage.delete(&stage.secret_path(TLS)).await;
    before = text(&another(&stage, &rotator, &before).await, "tls.crt");

    let nonsense = json!({"data": {"tls.crt": "bm9uc2Vuc2U=", "else": "YQ=="}});
    stage.admin.submit(Method::PATCH, &stage.secret_path(TLS), &nonsense).await.unwrap();
    let made = another(&stage, &rotator, &before).await;
    assert_eq!(made["data"]["else"], Value::Null);
    before = text(&made, "tls.crt");

    // One that nobody can change, and one that wants to hold something else.
    let data = json!({"tls.crt": "bm9uc2Vuc2U=", "tls.key": "bm9uc2Vuc2U="});
    let frozen = json!({"metadata": {"name": TLS}, "type": "kubernetes.io/tls", "immutable": true, "data": data});
    let other = json!({"metadata": {"name": TLS}, "type": "kubernetes.io/dockerconfigjson",
                       "data": {".dockerconfigjson": "e30="}});
    for object in [frozen, other] {
        // Whoever is faster: it is tried until it stays for a moment.
        while {
            stage.delete(&stage.secret_path(TLS)).await;
            stage.admin.submit(Method::POST, &stage.secret_path(""), &object).await.is_err()
        } {}
        let made = another(&stage, &rotator, &before).await;
        assert_eq!(
            (&made["type"], &made["immutable"]),
            (&json!("kubernetes.io/tls"), &Value::Null)
        );
        before = text(&made, "tls.crt");
    }
    assert_eq!(stage.bundles().await, [bundle.clone(), bundle], "the authority is the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_authority_stays_trusted_beside_the_new_one() {
    let (stage, rotator) = good().await;
    let mut bundle = stage.bundles().await.remove(0);
    let mut before = stage.certificate().await;
    let nonsense = json!({"data": {"ca.crt": "bm9uc2Vuc2U=", "ca.key": "bm9uc2Vuc2U="}});
    for (count, how) in [(2, None), (3, Some(nonsense))] {
        match how {
            None => stage.delete(&stage.secret_path(AUTHORITY)).await,
            Some(patch) => {
                let path = stage.secret_path(AUTHORITY);
                stage.admin.submit(Method::PATCH, &path, &patch).await.unwrap();
            }
        }
        stage.until("another authority", &rotator, async || stage.trusts(count).await).await;
        let both = stage.bundles().await.remove(0);
        assert!(both.starts_with(&bundle), "{}", rotator.log());
        let made = another(&stage, &rotator, &before).await;
        assert_eq!(text(&made, "ca.crt"), both);
        (bundle, before) = (both, text(&made, "tls.crt"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_authority_that_is_put_back_does_not_take_trust_away() {
    let (stage, rotator) = good().await;
    let old = stage.secret(AUTHORITY).await["data"].clone();
    let before = stage.certificate().await;
    stage.delete(&stage.secret_path(AUTHORITY)).await;
    let shown = another(&stage, &rotator, &before).await;
    let both = text(&shown, "ca.crt");
    stage.until("rest", &rotator, async || rotator.is_ready().await).await;

    let mut secret = stage.secret(AUTHORITY).await;
    secret["data"] = old;
    stage.admin.submit(Method::PUT, &stage.secret_path(AUTHORITY), &secret).await.unwrap();
    another(&stage, &rotator, &text(&shown, "tls.crt")).await;
    let now = stage.bundles().await.remove(0);
    let mut certificates = both.split_inclusive("-----END CERTIFICATE-----\n");
    assert!(certificates.all(|one| now.contains(one)), "{}", rotator.log());
}
