//! Jobs sent as somebody and as dry runs: the API server asks its webhooks and stores nothing.

use kube::client::Body;
use kube::{Client, Config};
use serde_json::Value;

use crate::core::shape::identities::Named;

/// What became of one.
#[derive(Debug)]
pub enum Answer {
    /// It would be stored; with the warnings that came along.
    Admitted(Vec<String>),
    /// It would not, with the server's message.
    Refused(String),
    /// Nobody answered, or not about this.
    None(kube::Error),
}

/// Sends dry runs to a namespace, under somebody's name and under that of the verb that sends them.
#[derive(Clone)]
pub struct DryRuns {
    client: Client,
    namespace: String,
    verb: &'static str,
}

impl DryRuns {
    /// Those of a submitter; whoever `config` stands for has to be allowed to impersonate them. `verb`
    /// ends the field manager's name, `jobshape-VERB`.
    ///
    /// # Errors
    /// A configuration that no client can be made of.
    pub fn new(
        config: &Config,
        submitter: &Named,
        namespace: &str,
        verb: &'static str,
    ) -> Result<DryRuns, kube::Error> {
        let mut config = config.clone();
        let requester = submitter.requester();
        config.auth_info.impersonate = Some(requester.user.to_owned());
        // What the API server adds by itself need not be allowed to be impersonated.
        let is_said = |group: &&String| {
            *group != "system:authenticated" && !group.starts_with("system:serviceaccounts")
        };
        let groups = submitter.groups().iter().filter(is_said).cloned();
        config.auth_info.impersonate_groups = Some(groups.collect());
        Ok(DryRuns { client: Client::try_from(config)?, namespace: namespace.to_owned(), verb })
    }

    /// The creation of a Job or, if that is its `kind`, of a CronJob.
    pub async fn create(&self, object: &Value) -> Answer {
        self.answer(object).await.unwrap_or_else(Answer::None)
    }

    async fn answer(&self, object: &Value) -> Result<Answer, kube::Error> {
        let resource = if object["kind"] == "CronJob" { "cronjobs" } else { "jobs" };
        let path = format!(
            "/apis/batch/v1/namespaces/{}/{resource}?dryRun=All&fieldManager=jobshape-{}",
            self.namespace, self.verb
        );
        let body = Body::from(object.to_string().into_bytes());
        let request = axum::http::Request::post(path).header("Content-Type", "application/json");
        let request = request.body(body).map_err(kube::Error::HttpError)?;
        // As it is: the warnings are in its head.
        let response = self.client.send(request).await?;
        let status = response.status();
        let warnings = response.headers().get_all("warning").iter();
        let warnings =
            warnings.map(|text| String::from_utf8_lossy(text.as_bytes()).into_owned()).collect();
        let body = response.into_body().collect_bytes().await?;
        if status.is_success() {
            return Ok(Answer::Admitted(warnings));
        }
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        // Asked for after admission: one of that name is there.
        if status.as_u16() == 409 && said["reason"] == "AlreadyExists" {
            return Ok(Answer::Admitted(warnings));
        }
        let message = said["message"].as_str().map(str::to_owned);
        Ok(Answer::Refused(message.unwrap_or_else(|| format!("HTTP status {status}"))))
    }
}
