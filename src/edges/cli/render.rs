//! `jobshape render`: what a cluster needs besides the manifests, from the shapes.

use clap::{Args, ValueEnum};

mod folder;

use crate::core::judge::Shapes;
use crate::core::mistake::Mistake;
use crate::core::shape::Shape;
use crate::core::shape::rule::Action;
use crate::core::tree::{NOWHERE, Node};
use crate::edges::cli::{CannotRun, at_default, print, say, stderr_style, substitution};
use crate::edges::shapes::{self, LoadErrors, LoadedShape};
use crate::formats::documents::documents;
use crate::formats::manifest::Names;
use crate::formats::manifest::configuration::{Reached, annotated, entries};
use crate::formats::manifest::shapes::{
    MOST, Rendered, TooLarge, config_map, lowered, lowered_annotation, needs_server_side_apply,
};
use crate::formats::report::snippet::mistake;

/// A namespace that is never sent to the webhook: what repairs a cluster lives there.
const KUBE_SYSTEM: &str = "kube-system";

/// The flags of `jobshape render`.
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// Shapes: directories, files, or - for standard input
    #[arg(long, value_name = "DIR|FILE|-", default_value = "rules")]
    shapes: Vec<String>,
    /// Write configuration.yaml, shapes.yaml and kustomization.yaml into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<String>,
    /// Write nothing: compare with what is in the folder, and end with 1 if it differs
    #[arg(long, requires = "out")]
    check: bool,
    /// Lower every stronger action of every rule to this one, to try the shapes out first
    #[arg(long, value_name = "ACTION")]
    action: Option<Most>,
    /// Only one of the two
    #[arg(long, value_name = "WHAT")]
    only: Option<What>,
    /// The name of the ConfigMap
    #[arg(long, value_name = "NAME", default_value_t = Names::default().shapes)]
    config_map: String,
    /// KEY=VALUE lines that fill ${KEY} in shapes and templates before they are read
    #[arg(long, value_name = "FILE")]
    substitute: Option<String>,
}

/// The words of `--action`: those of a shape.
#[derive(Debug, Clone, Copy, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum Most {
    /// Nothing is refused, and everything is recorded.
    Audit,
    /// Nothing is refused, and the requester is warned.
    Warn,
}

impl Most {
    fn action(self) -> Action {
        match self {
            Most::Audit => Action::Audit,
            Most::Warn => Action::Warn,
        }
    }
}

/// The words of `--only`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// The ValidatingWebhookConfiguration.
    Configuration,
    /// The ConfigMap.
    Shapes,
}

/// A file of what is rendered.
#[derive(Debug)]
struct File {
    name: &'static str,
    text: String,
}

/// Runs the verb: 1 when `--check` finds a difference.
///
/// # Errors
/// Shapes that cannot be loaded or installed, and a folder that cannot be read or written.
pub fn run(args: &RenderArgs) -> Result<u8, CannotRun> {
    let files = files(args)?;
    match &args.out {
        None => {
            let texts: Vec<&str> = files.iter().map(|file| &*file.text).collect();
            print(&texts.join("---\n")).map(|()| 0)
        }
        Some(folder) if args.check => folder::check(folder, &files),
        Some(folder) => folder::write(folder, &files).map(|()| 0),
    }
}

fn files(args: &RenderArgs) -> Result<Vec<File>, CannotRun> {
    let names = Names { shapes: args.config_map.clone(), ..Names::default() };
    check_name(&names.shapes)?;
    let substitution = substitution(args.substitute.as_deref())?;
    let loaded = shapes::load(&args.shapes, substitution.as_ref(), stderr_style())
        .map_err(|errors| at_default(&args.shapes, errors.into(), "--shapes"))?;
    shapes::together(&loaded)?;
    check_namespaces(&loaded, &names)?;
    let most = args.action.map(Most::action);
    let one = |one: &LoadedShape| rendered(one, most);
    let (rendered, together): (Vec<Rendered>, Vec<Shape>) =
        loaded.iter().map(one).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
    let head = head(&together, most);
    let together = Shapes::new(together).map_err(|(_, message)| CannotRun::because(message))?;
    let key = lowered_annotation();
    let annotations: Vec<(&str, &str)> = most.iter().map(|most| (&*key, most.word())).collect();

    let mut files = vec![];
    if args.only != Some(What::Shapes) {
        let reached = Reached::Service(&names);
        let text = annotated(&names.configuration, reached, &entries(&together), &annotations);
        files.push(File { name: "configuration.yaml", text: format!("{head}{text}") });
    }
    if args.only != Some(What::Configuration) {
        let text = config_map(&names, &rendered, &annotations).map_err(too_large)?;
        files.push(File { name: "shapes.yaml", text: format!("{head}{text}") });
        if needs_server_side_apply(&rendered) {
            say(
                "note: `kubectl apply` takes this ConfigMap with --server-side only: without it kubectl keeps a copy in an \
                 annotation, and annotations have at most 256 KiB\n",
            );
        }
    }
    Ok(files)
}

/// A shape as it goes into the ConfigMap, and what a server makes of that.
fn rendered(one: &LoadedShape, most: Option<Action>) -> Result<(Rendered, Shape), CannotRun> {
    let mut document = one.self_contained();
    if let Some(most) = most {
        document = lowered(&document, most);
    }
    let rendered = Rendered::of(&document);
    let internal = |what: &str| {
        CannotRun::because(format_args!(
            "{}: the rendered shape {what}, a mistake of jobshape",
            one.place
        ))
    };
    // What is written is what was loaded: seen here, and not in the cluster.
    let root = documents(&rendered.text).next().and_then(Result::ok);
    let root = root.ok_or_else(|| internal("cannot be read back"))?.root;
    let shape = Shape::load(&root, &[]).map_err(|found| {
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        internal(&format!("does not load ({})", found.join("; ")))
    })?;
    if most.is_none() && shape.digest != one.shape.digest {
        return Err(internal("has another digest"));
    }
    Ok((rendered, shape))
}

/// What stands at the top of each object.
fn head(shapes: &[Shape], most: Option<Action>) -> String {
    let mut text = String::from("# Made by `jobshape render`, which would write over a change:\n");
    let mut shapes: Vec<&Shape> = shapes.iter().collect();
    shapes.sort_by(|a, b| a.name.cmp(&b.name));
    for shape in shapes {
        let (digest, namespaces) = (shape.short_digest(), shape.namespaces.join(", "));
        text.push_str(&format!("#   {} ({digest}) in {namespaces}\n", shape.name));
    }
    if let Some(most) = most {
        text.push_str(&format!(
            "# Rendered with --action {most}: no rule does more than that, whatever the shapes say, and these are\n\
             # not the digests of the shapes as they are committed.\n"
        ));
    }
    text
}

/// A DNS subdomain, as every ConfigMap's name is.
fn check_name(name: &str) -> Result<(), CannotRun> {
    let part = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    if name.len() <= 253 && name.split('.').all(part) {
        return Ok(());
    }
    Err(CannotRun::because(format_args!(
        "--config-map `{name}`: a name is lower-case letters, digits, `-` and `.`, at most 253"
    )))
}

/// A webhook that stops what repairs it can never be repaired.
fn check_namespaces(loaded: &[LoadedShape], names: &Names) -> Result<(), CannotRun> {
    let mut reports = vec![];
    for one in loaded {
        for namespace in &one.shape.namespaces {
            let whose = if *namespace == names.namespace {
                "jobshape itself runs there"
            } else if namespace == KUBE_SYSTEM {
                "what a cluster cannot be without runs there"
            } else {
                continue;
            };
            let found = Mistake::new(
                namespace_at(one, namespace),
                format!("the webhook is never asked about `{namespace}`: {whose}, and a webhook that is down must not keep it down"),
            )
            .help("take it out of `namespaces` of match, and run these Jobs in a namespace of their own");
            let sources: Vec<_> = one.sources.iter().collect();
            reports.push(mistake(&sources, &found, stderr_style()));
        }
    }
    if reports.is_empty() { Ok(()) } else { Err(LoadErrors { reports, files: vec![] }.into()) }
}

/// Where in its text a shape names a namespace.
fn namespace_at(one: &LoadedShape, namespace: &str) -> u32 {
    let document = one.self_contained();
    let named = document
        .get("spec")
        .and_then(|spec| spec.get("match"))
        .and_then(|matching| matching.get("namespaces"));
    let mut items = named.map(Node::items).unwrap_or_default().iter();
    items.find(|item| item.as_str() == Some(namespace)).map_or(NOWHERE, |item| item.at)
}

fn too_large(error: TooLarge) -> CannotRun {
    let largest = error.each.iter().take(3);
    let largest: Vec<String> =
        largest.map(|(bytes, name)| format!("{name} ({} KiB)", bytes.div_ceil(1024))).collect();
    CannotRun::because(format_args!(
        "the shapes have {} KiB together, and a ConfigMap takes {} KiB of them; the largest: {}. One shape may name several \
         namespaces instead of being there once for each. What is still too large is split: render the configuration from all \
         with `--only configuration`, and each part with `--only shapes --config-map NAME`; docs/install.md says how both are \
         served",
        error.bytes.div_ceil(1024),
        MOST / 1024,
        largest.join(", "),
    ))
}
