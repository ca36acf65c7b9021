//! `/certificate`: certificates, keys and certificate authorities.

use menu::{Effect, Flag, Kind, Menu, MenuShape, OldProperty, Property, Spelling};

use crate::declare::{
    APPEND, AS_VALUE, DISABLED_SWITCH, DO, DURATION, FILE, FREEZE, INTERVAL, NUMBER, NUMBERS, ONCE,
    U32, WITHOUT_PAGING, argument, between, command, idle_command, nanoseconds, no, shown, text,
};
use crate::fragment::SECOND;

const USAGE: Kind = Kind::List(&Kind::Words(&[
    "digital-signature",
    "content-commitment",
    "key-encipherment",
    "data-encipherment",
    "key-agreement",
    "key-cert-sign",
    "crl-sign",
    "encipher-only",
    "decipher-only",
    "tls-server",
    "tls-client",
    "code-sign",
    "email-protect",
    "timestamp",
    "ocsp-sign",
    "dvcs",
]));
/// Default key usage of a certificate.
const USUAL: &str = concat!(
    "digital-signature,key-encipherment,data-encipherment,",
    "key-cert-sign,crl-sign,tls-server,tls-client"
);
const DIGEST: Kind = Kind::Words(&["md5", "sha1", "sha256", "sha384", "sha512"]);
const KEY_SIZE: Kind = Kind::Words(&[
    "1024",
    "1536",
    "2048",
    "4096",
    "8192",
    "prime256v1",
    "secp384r1",
    "secp521r1",
]);
/// Services that may trust a certificate.
const STORES: &[&str] = &[
    "api",
    "capsman",
    "container",
    "dns",
    "dot1x",
    "email",
    "fetch",
    "ipsec",
    "logging",
    "lora",
    "mqtt",
    "netwatch",
    "openflow",
    "ovpn",
    "radius",
    "reverse-proxy",
    "sstp",
    "tr069",
    "userman",
    "wiliot",
    "wpa-eap",
    "www",
];
const TRUST: Kind = Kind::Or(&["all"], &Kind::List(&Kind::Words(STORES)));
const CERTIFICATE: Kind = Kind::Reference("certificate");
/// `DNS:example.org`, `IP:10.0.0.1`, `email:a@b`.
const ALTERNATIVE: Kind = Kind::Spelled(&Spelling {
    describe: "DNS|IP|email:value",
    canonical: |text| {
        let (kind, rest) = text.split_once(':')?;
        let known = ["DNS", "IP", "email"].contains(&kind) && !rest.is_empty();
        known.then(|| text.to_owned())
    },
});

/// Properties that cannot change once the certificate is signed.
const TEMPLATE: &[&str] = &[
    "digest-algorithm",
    "common-name",
    "organization",
    "unit",
    "locality",
    "state",
    "country",
    "subject-alt-name",
    "key-size",
    "key-usage",
    "days-valid",
];

pub(crate) static MENU: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the certificate").required(),
        Property::new("trust-store", TRUST, "Services that trust the certificate").default("all"),
        Property::new("digest-algorithm", DIGEST, "Hash of the signature").default("sha256"),
        no("trusted", "Whether the certificate is trusted"),
        text("common-name", "Common name"),
        text("organization", "Organization"),
        text("unit", "Unit of the organization"),
        text("locality", "Locality"),
        text("state", "State"),
        text("country", "Country"),
        Property::new(
            "subject-alt-name",
            Kind::List(&ALTERNATIVE),
            "Subject alternative names",
        )
        .default(""),
        Property::new("key-size", KEY_SIZE, "Size or curve of the key").default("2048"),
        Property::new("key-usage", USAGE, "Key usage").default(USUAL),
        Property::new("days-valid", between(0, 36_500), "Validity in days").default("365"),
        shown(
            "ca-crl-host",
            Kind::Text,
            "Host of the certificate revocation list",
        ),
        shown("ca", Kind::Text, "CA"),
        shown("scep-url", Kind::Text, "SCEP URL"),
        shown("fingerprint", Kind::Text, "Fingerprint"),
        shown("req-fingerprint", Kind::Text, "Fingerprint of the request"),
        shown("ca-fingerprint", Kind::Text, "Fingerprint of the authority"),
        shown(
            "expires-after",
            Kind::SPAN,
            "Time until the certificate expires",
        ),
        shown("challenge-password", Kind::Text, "Challenge password"),
        shown(
            "domain-names",
            Kind::Text,
            "Domain names of the certificate",
        ),
        shown("directory-url", Kind::Text, "Directory URL"),
        shown("acme-status", Kind::Text, "ACME status"),
        shown("status", Kind::Text, "Status"),
        shown("issuer", Kind::List(&Kind::Text), "Issuer"),
        shown("key-type", Kind::Words(&["rsa", "dsa", "ec"]), "Key type"),
        shown("invalid-before", Kind::Text, "Start of validity"),
        shown("invalid-after", Kind::Text, "End of validity"),
        shown("serial-number", Kind::Text, "Serial number"),
        shown("akid", Kind::Text, "Authority key identifier"),
        shown("skid", Kind::Text, "Subject key identifier"),
    ]],
    kept: &[
        Property::new("der", Kind::Text, "Certificate in DER").kept(),
        Property::new("key", Kind::Text, "Private key").kept(),
        Property::new("card-key", Kind::Bool, "The private key is in a token").kept(),
        Property::new("key-stays", Kind::Bool, "The private key is not exported").kept(),
        Property::new("revoked-by", Kind::Text, "Revoked certificates").kept(),
    ],
    flags: &[
        Flag::new('D', "dynamic", 0),
        Flag::new('K', "private-key", 1),
        Flag::new('L', "crl", 2),
        Flag::new('C', "smart-card-key", 3),
        Flag::new('A', "authority", 4),
        Flag::new('I', "issued", 5),
        Flag::new('R', "revoked", 5),
        Flag::new('E', "expired", 6),
        Flag::new('T', "trusted", 7),
        Flag::new('a', "acme-managed", 8),
    ],
    columns: &["name", "common-name", "subject-alt-name", "fingerprint"],
    settled: TEMPLATE,
    space: Some("certificate"),
    key: Some("name"),
    kind: "cert",
    old: &[OldProperty::gone("fingerprint")],
    commands: &[
        idle_command("acme-renew", "Renew an ACME certificate", &[NUMBERS]),
        idle_command(
            "add-acme",
            "Get a certificate from an ACME server",
            &[
                AS_VALUE,
                argument("directory-url", Kind::Text, "Directory URL"),
                argument(
                    "domain-names",
                    Kind::Text,
                    "Domain names of the certificate",
                ),
                argument(
                    "eab-key-b64",
                    Kind::Text,
                    "External account binding key in base64",
                ),
                argument(
                    "eab-kid",
                    Kind::Text,
                    "External account binding key identifier",
                ),
                argument("name", Kind::Text, "Name"),
            ],
        ),
        idle_command(
            "add-scep",
            "Get a certificate from an SCEP server",
            &[
                AS_VALUE,
                argument("ca-identity", Kind::Text, "CA identity"),
                argument("challenge-password", Kind::Text, "Challenge password"),
                argument("name", Kind::Text, "Name"),
                argument(
                    "on-smart-card",
                    Kind::Bool,
                    "Store the key on the smart card",
                ),
                argument("refresh", Kind::Bool, "Refresh"),
                argument("scep-url", Kind::Text, "SCEP URL"),
                argument("template", CERTIFICATE, "Template"),
            ],
        ),
        command(
            "card-reinstall",
            "Load the token again, store its PIN, and find the keys of certificates in it",
            &[
                AS_VALUE,
                argument("pin", Kind::Sized { min: 0, max: 20 }, "Pin"),
            ],
        ),
        command(
            "card-verify",
            "Check the PIN of the token, by default the stored PIN",
            &[
                AS_VALUE,
                argument("pin", Kind::Sized { min: 0, max: 20 }, "Pin"),
            ],
        ),
        command(
            "create-certificate-request",
            "Write a certificate signing request",
            &[
                APPEND,
                AS_VALUE,
                argument("challenge-passphrase", Kind::Text, "Challenge passphrase"),
                DO,
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                argument("key-passphrase", Kind::Text, "Key passphrase"),
                ONCE,
                argument("template", CERTIFICATE, "Template"),
                WITHOUT_PAGING,
            ],
        ),
        idle_command(
            "enable-ssl-certificate",
            "Get a certificate for the web page",
            &[
                APPEND,
                AS_VALUE,
                argument("directory-url", Kind::Text, "Directory URL"),
                argument("dns-name", Kind::Text, "DNS name"),
                DO,
                DURATION,
                argument(
                    "eab-hmac-key",
                    Kind::Text,
                    "External account binding HMAC key",
                ),
                argument(
                    "eab-kid",
                    Kind::Text,
                    "External account binding key identifier",
                ),
                FILE,
                FREEZE,
                INTERVAL,
                ONCE,
                argument("reset-private-key", Kind::Bool, "Reset private key"),
                WITHOUT_PAGING,
            ],
        ),
        command(
            "export-certificate",
            "Write a certificate to a file",
            &[
                argument("export-passphrase", Kind::Text, "Export passphrase"),
                argument("file-name", Kind::Text, "File name"),
                NUMBERS,
                argument("type", Kind::Words(&["pem", "pkcs12"]), "Type"),
            ],
        ),
        command(
            "import",
            "Read certificates and keys from a file",
            &[
                AS_VALUE,
                argument("file-name", Kind::Text, "File name"),
                argument("name", Kind::Text, "Name"),
                argument(
                    "no-key-export",
                    Kind::Bool,
                    "Forbid export of the private key",
                ),
                argument("passphrase", Kind::Text, "Passphrase"),
                argument("trust-store", TRUST, "Trust store"),
                argument("trusted", Kind::Bool, "Trusted"),
            ],
        ),
        command("issued-revoke", "Revoke certificates", &[NUMBERS]),
        idle_command("scep-renew", "Renew an SCEP certificate", &[NUMBERS]),
        command(
            "sign",
            "Sign a template",
            &[
                APPEND,
                AS_VALUE,
                argument("ca", CERTIFICATE, "CA"),
                argument(
                    "ca-crl-host",
                    Kind::List(&Kind::Text),
                    "Host of the certificate revocation list",
                ),
                argument(
                    "ca-on-smart-card",
                    Kind::Bool,
                    "Authority key on the smart card",
                ),
                DO,
                DURATION,
                FILE,
                FREEZE,
                INTERVAL,
                argument("name", Kind::Text, "Name"),
                NUMBER,
                ONCE,
                WITHOUT_PAGING,
            ],
        ),
        command(
            "sign-certificate-request",
            "Sign a request",
            &[
                AS_VALUE,
                argument("ca", CERTIFICATE, "CA"),
                argument("days-valid", U32, "Validity in days"),
                argument("digest-algorithm", DIGEST, "Digest algorithm"),
                argument("file-name", Kind::Text, "File name"),
            ],
        ),
    ],
    conditions: crate::conditions::CERTIFICATE,
    ..Menu::new("/certificate", MenuShape::List, "Certificates")
};

pub(crate) static BUILTIN: Menu = Menu {
    properties: &[&[
        shown("common-name", Kind::Text, "Common name"),
        shown("organization", Kind::Text, "Organization"),
        shown("unit", Kind::Text, "Unit"),
        shown("locality", Kind::Text, "Locality"),
        shown("state", Kind::Text, "State"),
        shown("country", Kind::Text, "Country"),
        shown("subject-alt-name", Kind::Text, "Subject alternative names"),
        shown(
            "key-size",
            Kind::Words(&[
                "prime256v1",
                "secp384r1",
                "secp521r1",
                "1024",
                "1536",
                "2048",
                "4096",
                "8192",
            ]),
            "Key size",
        ),
        shown("key-usage", USAGE, "Key usage"),
        shown("days-valid", U32, "Validity in days"),
        shown("issuer", Kind::List(&Kind::Text), "Issuer"),
        shown("key-type", Kind::Words(&["rsa", "dsa", "ec"]), "Key type"),
        shown("invalid-before", Kind::Text, "Start of validity"),
        shown("invalid-after", Kind::Text, "End of validity"),
        shown("serial-number", Kind::Text, "Serial number"),
        shown("akid", Kind::Text, "Authority key identifier"),
        shown("skid", Kind::Text, "Subject key identifier"),
    ]],
    columns: &["common-name", "organization"],
    conditions: crate::conditions::BUILTIN_CERTIFICATE,
    ..Menu::new(
        "/certificate/builtin",
        MenuShape::Rows,
        "Built-in certificates",
    )
};

pub(crate) static CRL: Menu = Menu {
    properties: &[&[
        Property::new("url", Kind::Text, "URL of the revocation list").required(),
        shown("cert", Kind::Words(&["none"]), "Cert"),
        shown("trust-store", Kind::Text, "Trust store"),
        shown("num", U32, "Number of revoked certificates"),
        shown("revoked", U32, "Revoked"),
        shown("next-update", Kind::Text, "Time of the next update"),
        shown("last-update", Kind::Text, "Time of the last update"),
        shown("akid", Kind::Text, "Authority key identifier"),
        shown("fingerprint", Kind::Text, "Fingerprint"),
        shown("signature", Kind::Text, "Signature"),
    ]],
    flags: &[
        Flag::new('E', "expired", 1),
        Flag::new('D', "dynamic", 0),
        Flag::new('I', "invalid", 1),
    ],
    columns: &["url", "num", "next-update", "last-update"],
    commands: &[
        idle_command("download", "Download the lists again", &[]),
        idle_command("flush", "Remove the downloaded lists", &[]),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/certificate/crl",
        MenuShape::List,
        "Lists of revoked certificates",
    )
};

pub(crate) static SCEP_SERVER: Menu = Menu {
    properties: &[&[
        // Exports contain references to certificates, but not the certificates: accept any name.
        Property::new("ca-cert", Kind::Name, "Signing certificate").required(),
        Property::new(
            "next-ca-cert",
            Kind::Or(&["none"], &Kind::Name),
            "Next signing certificate",
        )
        .default("none"),
        text("path", "Path of the server"),
        Property::new("days-valid", U32, "Validity of certificates in days").default("365"),
        Property::new(
            "request-lifetime",
            nanoseconds(300 * SECOND, i64::MAX),
            "Lifetime of a request",
        )
        .default("1d"),
        DISABLED_SWITCH,
    ]],
    flags: &[Flag::new('X', "disabled", 1)],
    columns: &["ca-cert", "path", "days-valid"],
    effect: Effect::None,
    ..Menu::new("/certificate/scep-server", MenuShape::List, "SCEP servers")
};

pub(crate) static OTP: Menu = Menu {
    properties: &[&[
        shown("password", Kind::Text, "Password"),
        shown("expires", Kind::SPAN, "Expires"),
        shown("used", Kind::Bool, "Used"),
    ]],
    flags: &[Flag::new('E', "expired", 1)],
    columns: &["password", "expires", "used"],
    commands: &[
        idle_command(
            "generate",
            "Generate a one-time password",
            &[
                AS_VALUE,
                argument("minutes-valid", U32, "Validity in minutes"),
            ],
        ),
        idle_command("remove", "Remove items", &[NUMBERS]),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/certificate/scep-server/otp",
        MenuShape::Rows,
        "One-time passwords",
    )
};

pub(crate) static RA: Menu = Menu {
    properties: &[&[
        Property::new("name", Kind::Name, "Name of the authority").required(),
        Property::new(
            "server-url",
            Kind::Filled,
            "URL of the upstream SCEP server",
        )
        .required(),
        Property::new("template", CERTIFICATE, "Template of the certificate").required(),
        text("challenge-password", "Password for the server").sensitive(),
        text("ca-identity", "Identity of the server's authority"),
        Property::new(
            "fingerprint-algorithm",
            Kind::Words(&["sha256", "sha1", "md5"]),
            "Hash of fingerprints",
        )
        .default("sha256"),
        text("ra-path", "Path of the authority"),
        Property::new(
            "ra-transaction-lifetime",
            nanoseconds(300 * SECOND, i64::MAX),
            "Lifetime of a request",
        )
        .default("1d"),
        no("on-smart-card", "Store the key on the smart card"),
        shown("req-fingerprint", Kind::Text, "Fingerprint of the request"),
        shown("ca-fingerprint", Kind::Text, "Fingerprint of the authority"),
        shown("status", Kind::Text, "Status"),
        DISABLED_SWITCH,
    ]],
    flags: &[
        Flag::new('X', "disabled", 1),
        Flag::new('C', "smart-card-key", 1),
    ],
    columns: &["name", "server-url", "template"],
    commands: &[idle_command(
        "renew",
        "Renew the authority's certificate",
        &[NUMBERS],
    )],
    effect: Effect::None,
    ..Menu::new(
        "/certificate/scep-server/ra",
        MenuShape::List,
        "Registration authorities",
    )
};

pub(crate) static REQUESTS: Menu = Menu {
    properties: &[&[
        shown("authority", Kind::Text, "Authority"),
        shown(
            "status",
            Kind::Words(&[
                "pending",
                "granted",
                "denied",
                "authorized",
                "waiting",
                "failed",
                "issued",
                "invalid",
            ]),
            "Status",
        ),
        shown("created", Kind::Text, "Created"),
        shown("transaction-id", Kind::Text, "Transaction identifier"),
        shown("req-fingerprint", Kind::Text, "Fingerprint of the request"),
        shown("country", Kind::Text, "Country"),
        shown("state", Kind::Text, "State"),
        shown("locality", Kind::Text, "Locality"),
        shown("organization", Kind::Text, "Organization"),
        shown("unit", Kind::Text, "Unit"),
        shown("common-name", Kind::Text, "Common name"),
        shown("serial-number", Kind::Text, "Serial number"),
        shown("subject-alt-name", Kind::Text, "Subject alternative names"),
    ]],
    columns: &["authority", "status", "common-name"],
    commands: &[
        idle_command("grant", "Grant requests", &[NUMBERS]),
        idle_command("remove", "Remove items", &[NUMBERS]),
    ],
    effect: Effect::None,
    ..Menu::new(
        "/certificate/scep-server/requests",
        MenuShape::Rows,
        "Requests to SCEP servers",
    )
};

pub(crate) static SETTINGS: Menu = Menu {
    properties: &[&[
        Property::new(
            "builtin-trust-store",
            Kind::Or(
                &["all", "default", "untrusted"],
                &Kind::List(&Kind::Words(STORES)),
            ),
            "Services that trust the built-in certificates",
        )
        .default("default"),
        no("crl-download", "Download certificate revocation lists").inert(),
        no("crl-use", "Check certificates against revocation lists"),
        Property::new(
            "crl-store",
            Kind::Words(&["system", "ram"]),
            "Storage of revocation lists",
        )
        .default("ram")
        .inert(),
    ]],
    ..Menu::new(
        "/certificate/settings",
        MenuShape::Settings,
        "Certificate verification settings",
    )
};
