//! Who asks the API server.

/// An identity that a request is made with.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Identity {
    /// Whoever may do everything: the administrator of our own control plane, or the user of the
    /// given kubeconfig.
    Admin,
    /// Somebody else.
    As {
        /// The user name, as RBAC and a webhook see it.
        user: String,
        /// The groups; the server adds `system:authenticated`.
        groups: Vec<String>,
    },
}

impl Identity {
    /// A person or a machine.
    pub fn user(name: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        Identity::As { user: name.to_owned(), groups }
    }

    /// A service account with the groups that the server gives it.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Identity::As {
            user: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
            ],
        }
    }

    /// The user name, where we know it.
    pub fn user_name(&self) -> Option<&str> {
        match self {
            Identity::Admin => None,
            Identity::As { user, .. } => Some(user),
        }
    }
}
