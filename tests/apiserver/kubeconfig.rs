//! The user that a kubeconfig speaks for, and acting as somebody else with it.

use serde_json::{Value, json};

use super::{Failure, Identity};

/// The entry of `users` that the current context names.
fn current_user(kubeconfig: &mut Value) -> Option<&mut Value> {
    let current = kubeconfig["current-context"].as_str()?.to_owned();
    let context = named(&mut kubeconfig["contexts"], &current)?;
    let user = context["context"]["user"].as_str()?.to_owned();
    Some(&mut named(&mut kubeconfig["users"], &user)?["user"])
}

fn named<'a>(list: &'a mut Value, name: &str) -> Option<&'a mut Value> {
    list.as_array_mut()?.iter_mut().find(|item| item["name"] == name)
}

/// The same kubeconfig, acting as `identity`.
pub fn acting_as(mut kubeconfig: Value, identity: &Identity) -> Result<Value, Failure> {
    let Identity::As { user, groups } = identity else { return Ok(kubeconfig) };
    let current = current_user(&mut kubeconfig).ok_or_else(|| {
        Failure::new("The kubeconfig has no user for its current context, so nobody can be impersonated.")
    })?;
    current["as"] = json!(user);
    current["as-groups"] = json!(groups);
    Ok(kubeconfig)
}

/// Whom its user acts as, if it does.
pub fn impersonated(kubeconfig: &Value) -> Option<(String, Vec<String>)> {
    let mut kubeconfig = kubeconfig.clone();
    let user = current_user(&mut kubeconfig)?;
    let name = user["as"].as_str()?.to_owned();
    let groups = user["as-groups"].as_array().into_iter().flatten();
    Some((name, groups.filter_map(Value::as_str).map(str::to_owned).collect()))
}
