/** Tells the owner of a name what is going on with its transfer to another registrar. */
import { toUnicode } from 'tr46';
import type { Message } from '../mail/index.ts';
import type { TransferOut } from '../tables.ts';

export function composeTransferMail(
  owner: { readonly name: string; readonly email: string },
  name: string,
  transfer: TransferOut,
): Message {
  const { domain: unicode } = toUnicode(name);
  const shown = unicode === name ? name : `${unicode} (${name})`;
  const { subject, text } = contentOf(unicode, shown, name, transfer);
  return { to: owner.email, subject, text: `Hello ${owner.name},\n\n${text}` };
}

function contentOf(unicode: string, shown: string, name: string, transfer: TransferOut) {
  const by = transfer.requestedBy === null ? 'another registrar' : `another registrar (${transfer.requestedBy})`;
  switch (transfer.state) {
    case 'pending': {
      const when =
        transfer.actsAt === null ? 'after some days' : `on ${transfer.actsAt.slice(0, 16).replace('T', ' at ')} UTC`;
      return {
        subject: `${unicode}: another registrar asks for it`,
        text: `${by} asked for ${shown} on ${transfer.requestedAt.slice(0, 10)}, with its auth code.

If you want this transfer, you need not do anything: the registry approves it ${when}. To have it at once:
POST /domains/${name}/transfer-out/approve

If you do not want it, reject it before that: POST /domains/${name}/transfer-out/reject. Then turn the registrar
lock on, and revoke tokens that others may have.
`,
      };
    }
    case 'approved':
      return {
        subject: `${unicode} has been transferred to another registrar`,
        text: `${shown} is with ${by} now, and leaves your portfolio.

Its records are served until its nameservers are others and the old ones are forgotten everywhere, but for 60 days
at most. Set it up where it is now.
`,
      };
    case 'rejected':
      return {
        subject: `${unicode} stays: the transfer was rejected`,
        text: `the transfer of ${shown} to ${by} was rejected. The domain stays in your portfolio.
`,
      };
    case 'cancelled':
      return {
        subject: `${unicode} stays: the transfer was cancelled`,
        text: `the transfer of ${shown} to ${by} was cancelled. The domain stays in your portfolio.
`,
      };
    default:
      return transfer.state satisfies never;
  }
}
