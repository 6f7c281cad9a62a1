//! Certificates of one run, and files as kubelet lays them.

use std::net::Ipv4Addr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    SanType,
};
use time::OffsetDateTime;

use crate::apiserver::Failure;

/// A clock may be a little behind.
const SKEW: Duration = Duration::from_secs(3600);

/// An authority that signs serving certificates for loopback.
pub struct Authority {
    params: CertificateParams,
    key: KeyPair,
    /// Its certificate, PEM.
    pub pem: String,
}

/// A certificate and its key, PEM.
pub struct Leaf {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

impl Authority {
    /// A new one.
    pub fn new(name: &str) -> Result<Self, Failure> {
        Self::make(name).map_err(Failure::during("making an authority"))
    }

    fn make(name: &str) -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let key = KeyPair::generate()?;
        let pem = params.self_signed(&key)?.pem();
        Ok(Self { params, key, pem })
    }

    /// A certificate for 127.0.0.1 that is valid for so long from now.
    pub fn leaf(&self, valid: Duration) -> Result<Leaf, Failure> {
        self.sign(loopback(), valid).map_err(Failure::during("making a certificate"))
    }

    /// The same for a name.
    pub fn leaf_for(&self, name: &str, valid: Duration) -> Result<Leaf, Failure> {
        let during = Failure::during("making a certificate");
        let name = match name.try_into() {
            Ok(name) => SanType::DnsName(name),
            Err(error) => return Err(during(error)),
        };
        self.sign(name, valid).map_err(during)
    }

    /// One that ended a while ago.
    pub fn expired(&self) -> Result<Leaf, Failure> {
        let now = OffsetDateTime::now_utc();
        let ended = (now - 2 * SKEW, now - SKEW / 2);
        self.sign_for(loopback(), ended).map_err(Failure::during("making a certificate"))
    }

    fn sign(&self, name: SanType, valid: Duration) -> Result<Leaf, rcgen::Error> {
        let now = OffsetDateTime::now_utc();
        self.sign_for(name, (now - SKEW, now + valid))
    }

    fn sign_for(
        &self,
        name: SanType,
        (from, to): (OffsetDateTime, OffsetDateTime),
    ) -> Result<Leaf, rcgen::Error> {
        let mut leaf = CertificateParams::new(Vec::<String>::new())?;
        leaf.subject_alt_names.push(name);
        leaf.distinguished_name.push(DnType::CommonName, "jobshape");
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        (leaf.not_before, leaf.not_after) = (from, to);
        let key = KeyPair::generate()?;
        let signed = leaf.signed_by(&key, &Issuer::from_params(&self.params, &self.key))?;
        Ok(Leaf { certificate: signed.pem(), key: key.serialize_pem() })
    }
}

fn loopback() -> SanType {
    SanType::IpAddress(Ipv4Addr::LOCALHOST.into())
}

/// A folder whose files are links through `..data`, as kubelet mounts Secrets and ConfigMaps: all of
/// them change at once.
pub struct Volume {
    path: PathBuf,
    generation: std::cell::Cell<u32>,
}

impl Volume {
    /// In a folder that is made for it.
    pub fn new(path: PathBuf) -> Result<Self, Failure> {
        std::fs::create_dir_all(&path).map_err(Failure::during("making a volume"))?;
        Ok(Self { path, generation: std::cell::Cell::new(0) })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Exactly these files from now on.
    pub fn publish(&self, files: &[(&str, &str)]) -> Result<(), Failure> {
        self.swap(files).map_err(Failure::during("writing a volume"))
    }

    fn swap(&self, files: &[(&str, &str)]) -> std::io::Result<()> {
        let generation = self.generation.get() + 1;
        self.generation.set(generation);
        let folder = format!("..generation-{generation}");
        std::fs::create_dir(self.path.join(&folder))?;
        for (name, content) in files {
            std::fs::write(self.path.join(&folder).join(name), content)?;
        }
        let next = self.path.join("..data_tmp");
        symlink(&folder, &next)?;
        let data = self.path.join("..data");
        let before = std::fs::read_link(&data).ok();
        std::fs::rename(&next, &data)?;
        for (name, _) in files {
            let link = self.path.join(name);
            if !link.is_symlink() {
                symlink(Path::new("..data").join(name), link)?;
            }
        }
        for entry in std::fs::read_dir(&self.path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with("..") && !files.iter().any(|(file, _)| *file == name) {
                std::fs::remove_file(entry.path())?;
            }
        }
        if let Some(before) = before {
            std::fs::remove_dir_all(self.path.join(before))?;
        }
        Ok(())
    }
}
