//! `jobshape verify`: is the boundary live?

use clap::Args;

use crate::core::judge::Shapes;
use crate::core::shape::identities::Named;
use crate::edges::cli::{
    CannotRun, Format, at_default, print, stderr_style, stdout_style, substitution,
};
use crate::edges::cluster::ClusterArgs;
use crate::edges::verify::Verification;
use crate::edges::{files, shapes, suites};
use crate::formats::manifest::Names;
use crate::formats::report::verified::{self, Line, exit_status};

/// The flags of `jobshape verify`.
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// What should be in force: a directory, a file, or - for standard input; in a file and in
    /// standard input also the shapes in ConfigMaps
    #[arg(long, value_name = "DIR|FILE|-", default_value = "rules")]
    shapes: Vec<String>,
    #[command(flatten)]
    cluster: ClusterArgs,
    /// Who submits the Jobs [default: `request` of the shape's test file, or its only user]
    #[arg(long = "as", value_name = "USER")]
    user: Option<String>,
    /// A group of theirs; may be given several times
    #[arg(long = "as-group", value_name = "GROUP", requires = "user")]
    groups: Vec<String>,
    /// Who may change the boundary although no administrator: User/NAME, Group/NAME or
    /// ServiceAccount/NAMESPACE/NAME
    #[arg(long, value_name = "KIND/NAME")]
    trust: Vec<String>,
    /// Accept the terms that AKS's Admissions Enforcer adds to namespace selectors
    #[arg(long)]
    allow_aks_terms: bool,
    /// The namespace that jobshape runs in
    #[arg(long, value_name = "NAMESPACE", default_value_t = Names::default().namespace)]
    own_namespace: String,
    /// KEY=VALUE lines that fill ${KEY} in shapes and templates before they are read
    #[arg(long, value_name = "FILE")]
    substitute: Option<String>,
    /// How to print the result
    #[arg(short, long, value_name = "FORMAT", default_value = "human")]
    output: Format,
}

/// Runs the verb.
///
/// # Errors
/// Shapes that cannot be loaded, and no cluster to ask.
pub fn run(args: &VerifyArgs) -> Result<u8, CannotRun> {
    let substitution = substitution(args.substitute.as_deref())?;
    let loaded =
        shapes::load_also_in_manifests(&args.shapes, substitution.as_ref(), stderr_style())
            .map_err(|errors| at_default(&args.shapes, errors.into(), "--shapes"))?;
    let shapes = shapes::into_together(loaded)?;
    let submitters = submitters(args, &shapes)?;
    let names = Names { namespace: args.own_namespace.clone(), ..Names::default() };
    let human = args.output == Format::Human;
    let style = stdout_style();
    let mut failed_to_print = None;
    let said = |line: &Line| {
        if human && failed_to_print.is_none() {
            failed_to_print = print(&verified::human(line, style)).err();
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let lines = runtime.map_err(CannotRun::because)?.block_on(async {
        let config = args.cluster.config().await.map_err(CannotRun::because)?;
        let client = kube::Client::try_from(config.clone()).map_err(CannotRun::because)?;
        let (config, shapes, names) = (&config, &shapes, &names);
        let verification = Verification {
            config,
            client,
            shapes,
            names,
            submitters,
            trusted: &args.trust,
            allow_aks_terms: args.allow_aks_terms,
        };
        Ok::<_, CannotRun>(verification.run(said).await)
    })?;
    if let Some(error) = failed_to_print {
        return Err(error);
    }
    let enforced = shapes.all().iter().any(|shape| shape.enforces());
    print(&match args.output {
        Format::Human => verified::summary(&lines, enforced, style),
        Format::Json => verified::json(&lines, enforced).map_err(CannotRun::because)?,
    })?;
    Ok(exit_status(&lines))
}

/// Who submits what each shape is about.
fn submitters(args: &VerifyArgs, shapes: &Shapes) -> Result<Vec<Option<Named>>, CannotRun> {
    if let Some(user) = &args.user {
        let named = Named::new(user, &args.groups);
        return Ok(shapes.all().iter().map(|_| Some(named.clone())).collect());
    }
    let folders: Vec<String> =
        args.shapes.iter().filter(|path| *path != files::STDIN).cloned().collect();
    let substitution = substitution(args.substitute.as_deref())?;
    // A folder without test files has nobody to tell.
    let suites = suites::load(&folders, substitution.as_ref(), stderr_style()).unwrap_or_default();
    let said = |name: &str| {
        let of_shape = suites.iter().filter(|s| s.shapes.iter().any(|shape| shape.name == name));
        let mut requests = of_shape.filter_map(|suite| {
            let request = &suite.suite.request;
            request.user.as_ref().map(|user| Named::new(user, &request.groups))
        });
        requests.next()
    };
    let only = |users: &[String]| match users {
        [user] => Some(Named::new(user, &[])),
        _ => None,
    };
    Ok(shapes.all().iter().map(|s| said(&s.name).or_else(|| only(&s.who.users))).collect())
}
