/** Who the registrar is, as it tells the world. */
export interface RegistrarIdentity {
  readonly name: string;
  readonly iana_id?: number;
  readonly abuse_email: string;
  readonly abuse_phone?: string;
  readonly url?: string;
}
