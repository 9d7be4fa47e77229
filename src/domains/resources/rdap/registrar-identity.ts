/** Who the registrar is, as it tells the world. */
export interface RegistrarIdentity {
  readonly name: string;
  readonly iana_id?: number;
  readonly abuse_email: string;
  readonly abuse_phone?: string;
  readonly url?: string;
}

/** In whose name RDAP is answered, and how. */
export interface RdapIdentity extends RegistrarIdentity {
  /** Terms of service of RDAP. */
  readonly terms_url?: string;
  /** Where anybody writes to a registrant whose address is private: `https:` or `mailto:`. */
  readonly registrant_contact?: string;
  /** Answers about names of generic TLDs are as ICANN's profile has them, and say so. Then all the members above are there. */
  readonly icann_profile?: boolean;
}
