export type OutboundReason =
  /** Not an absolute URL. */
  | 'malformed'
  /** Neither http nor https, or http where https is required. */
  | 'scheme'
  /** User name or password inside the URL. */
  | 'credentials'
  /** The host is, or resolves to, an address that the policy refuses. */
  | 'address'
  /** The host has no address, or the resolver did not answer in time. */
  | 'unresolvable'
  /** More redirects than allowed, or one that cannot be followed. */
  | 'redirect'
  /** More bytes than the caller takes. */
  | 'too_large'
  /** A reply that is no HTTP. */
  | 'bad_response';

/**
 * A call that the guard refused. The message may be shown to the user: it names the host and never the address behind
 * it, which would let a user map the operator's network.
 */
export class OutboundError extends Error {
  readonly reason: OutboundReason;

  constructor(reason: OutboundReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'OutboundError';
    this.reason = reason;
  }
}
