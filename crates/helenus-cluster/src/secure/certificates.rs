//! A cluster's own authority and what it signs: a certificate a node and one for clients, as PEM and as keystores.
//! Refuses to keep the authority's key: what it has not signed during `up`, nobody can have signed later.

use super::SecureError;
use helenus_model::plan::ClusterPlan;
use p12_keystore::{
    Certificate as StoredCertificate, KeyStore, KeyStoreEntry, PrivateKey, PrivateKeyChain,
};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType, date_time_ymd,
};
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Certificates hold for ten years: a cluster for tests does not die of them, and no clock is that wrong.
const HOLDS: Duration = Duration::from_secs(10 * 365 * 86_400);

/// A client whose clock is behind by less than this still takes them.
const CLOCKS_APART: Duration = Duration::from_secs(86_400);

/// Rounds of the keystores' key derivation. They protect guessable passwords; this one has 256 random bits, and a
/// starting JVM reads its stores several times before it compiles anything.
const ROUNDS: u32 = 100;

/// File names and contents.
pub(super) struct Certificates {
    pub(super) files: Vec<(String, Vec<u8>)>,
}

/// The authority while it signs.
struct Authority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// Somebody with a certificate.
struct Holder {
    key: KeyPair,
    certificate: Certificate,
}

impl Certificates {
    /// All that a cluster needs, its keystores closed with `password`.
    pub(super) fn make(plan: &ClusterPlan, password: &str) -> Result<Self, SecureError> {
        let authority = Authority::new(&plan.name)?;
        let mut files = vec![
            (
                "ca.pem".to_owned(),
                authority.certificate.pem().into_bytes(),
            ),
            ("truststore.p12".to_owned(), authority.truststore(password)?),
        ];
        let both = [
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        for node in &plan.nodes {
            let name = format!("{}/{}", plan.name, node.name);
            let holder = authority.sign(&name, &[node.address, Ipv4Addr::LOCALHOST], &both)?;
            let store = authority.keystore(&node.name, &holder, password)?;
            files.push((format!("{}.p12", node.name), store));
        }
        if plan.security.client_auth {
            let name = format!("client of {}", plan.name);
            let client = authority.sign(&name, &[], &both[1..])?;
            let store = authority.keystore("client", &client, password)?;
            files.push(("client.p12".to_owned(), store));
            files.push((
                "client.pem".to_owned(),
                client.certificate.pem().into_bytes(),
            ));
            files.push((
                "client.key".to_owned(),
                client.key.serialize_pem().into_bytes(),
            ));
        }
        Ok(Self { files })
    }
}

impl Authority {
    fn new(cluster: &str) -> Result<Self, SecureError> {
        let name = format!("authority of {cluster}");
        let failed = |source| SecureError::Certificate {
            of: name.clone(),
            source,
        };
        let mut params = params(&name);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.self_signed(&key).map_err(failed)?;
        Ok(Self {
            certificate,
            issuer: Issuer::new(params, key),
        })
    }

    fn sign(
        &self,
        name: &str,
        addresses: &[Ipv4Addr],
        purposes: &[ExtendedKeyUsagePurpose],
    ) -> Result<Holder, SecureError> {
        let failed = |source| SecureError::Certificate {
            of: name.to_owned(),
            source,
        };
        let mut params = params(name);
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = purposes.to_vec();
        if !addresses.is_empty() {
            let localhost = "localhost".try_into().map_err(failed)?;
            params.subject_alt_names = vec![SanType::DnsName(localhost)];
            let ips = addresses
                .iter()
                .map(|ip| SanType::IpAddress(IpAddr::V4(*ip)));
            params.subject_alt_names.extend(ips);
        }
        let key = KeyPair::generate().map_err(failed)?;
        let certificate = params.signed_by(&key, &self.issuer).map_err(failed)?;
        Ok(Holder { key, certificate })
    }

    fn truststore(&self, password: &str) -> Result<Vec<u8>, SecureError> {
        let of = "the authority";
        let mut store = KeyStore::new();
        store.add_entry(
            "ca",
            KeyStoreEntry::Certificate(stored(&self.certificate, of)?),
        );
        write(&store, password, of)
    }

    fn keystore(&self, of: &str, holder: &Holder, password: &str) -> Result<Vec<u8>, SecureError> {
        let key = PrivateKey::from_der(holder.key.serialized_der()).map_err(no_store(of))?;
        let chain = [
            stored(&holder.certificate, of)?,
            stored(&self.certificate, of)?,
        ];
        let entry = PrivateKeyChain::new(of.as_bytes().to_vec(), key, chain);
        let mut store = KeyStore::new();
        store.add_entry(of, KeyStoreEntry::PrivateKeyChain(entry));
        write(&store, password, of)
    }
}

fn params(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let epoch = date_time_ymd(1970, 1, 1);
    params.not_before = epoch + now.saturating_sub(CLOCKS_APART);
    params.not_after = epoch + (now + HOLDS);
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::OrganizationName, "Helenus");
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn stored(certificate: &Certificate, of: &str) -> Result<StoredCertificate, SecureError> {
    StoredCertificate::from_der(certificate.der()).map_err(no_store(of))
}

fn write(store: &KeyStore, password: &str, of: &str) -> Result<Vec<u8>, SecureError> {
    store
        .writer(password)
        .encryption_iterations(ROUNDS)
        .mac_iterations(ROUNDS)
        .write()
        .map_err(no_store(of))
}

fn no_store(of: &str) -> impl FnOnce(p12_keystore::error::Error) -> SecureError {
    let of = of.to_owned();
    move |source| SecureError::Keystore { of, source }
}
