/** Whether those that the services call besides take what is configured of them: card payments, mail, and nameservers that copy our zones. */
import type { Config, DnsSecondary } from '../../kernel/config/config.ts';
import { type Finding, failed, messageOf, ok, skipped, warning } from './finding.ts';

type Checked = Pick<Config, 'billing' | 'domains'>;

/** An answer that takes longer comes too late for a caller. */
const ANSWER_TIMEOUT_MS = 10_000;

/** None, where nothing is configured. */
export async function checkProviders({ billing, domains }: Checked): Promise<Finding[]> {
  const cards = [
    {
      ...billing,
      setting: 'IRONCRAFT_STRIPE_KEY',
      load: () => import('../../platform/operator/index.ts'),
    },
    {
      ...domains,
      setting: 'IRONCRAFT_DOMAINS_STRIPE_KEY',
      load: () => import('../../domains/wallet/index.ts'),
    },
  ];
  return Promise.all([
    ...cards.flatMap(({ load, setting, stripeKey, stripeUrl }) =>
      stripeKey === undefined ? [] : [checkCards({ load, setting, stripeKey, stripeUrl })],
    ),
    ...checkMail(domains),
    ...domains.dnsSecondaries.map((secondary) => checkSecondary(secondary, domains.dnsHost)),
  ]);
}

interface CardAccount {
  readonly setting: string;
  readonly stripeKey: string;
  readonly stripeUrl: string | undefined;
  readonly load: () => Promise<{ tryCardPayments(account: TriedAccount): Promise<void> }>;
}

interface TriedAccount {
  readonly secretKey: string;
  readonly apiUrl?: string;
  readonly timeoutMs: number;
}

async function checkCards({ load, setting, stripeKey, stripeUrl }: CardAccount): Promise<Finding> {
  const { tryCardPayments } = await load();
  const where = stripeUrl ?? 'Stripe';
  try {
    const apiUrl = stripeUrl === undefined ? {} : { apiUrl: stripeUrl };
    await tryCardPayments({ secretKey: stripeKey, timeoutMs: ANSWER_TIMEOUT_MS, ...apiUrl });
    const mode = /^[a-z]+_test_/.test(stripeKey) ? ', which moves no money: it is a test key' : '';
    return ok('cards', `${where} takes the key of ${setting}${mode}`);
  } catch (error) {
    const fix = `Look at ${setting} in Stripe’s dashboard: a restricted key needs the rights to read and write PaymentIntents. Until then cards are not charged.`;
    return failed('cards', `${where} does not take the key of ${setting}: ${messageOf(error)}`, fix);
  }
}

function checkMail({ configFile, mailUrl, registry }: Config['domains']): Promise<Finding>[] {
  if (mailUrl !== undefined) return [checkMailServer(mailUrl)];
  if (configFile === undefined && registry === 'simulated') return [];
  const fix = 'Set IRONCRAFT_DOMAINS_MAIL_URL: auth codes and notices of expiry have to reach their owners.';
  return [Promise.resolve(warning('mail', 'messages are only written into files, in outbox of the data folder', fix))];
}

async function checkMailServer(mailUrl: string): Promise<Finding> {
  const { tryMailServer } = await import('../../domains/mail/index.ts');
  const { host, username } = new URL(mailUrl);
  try {
    await tryMailServer(mailUrl);
    return ok('mail', username === '' ? `${host} answers` : `${host} takes the login`);
  } catch (error) {
    const fix =
      'Look at IRONCRAFT_DOMAINS_MAIL_URL: host, port, name, password, and whether the server has TLS. Until then nobody is mailed.';
    return failed('mail', `${host}: ${messageOf(error)}`, fix);
  }
}

async function checkSecondary(secondary: DnsSecondary, host: string): Promise<Finding> {
  const { address, key, port } = secondary;
  if (address.includes('/')) return skipped('secondaries', `${address} is a network: it asks by itself`);
  const { trySecondary } = await import('../../domains/dns/embedded/index.ts');
  const name = `${address} port ${port}`;
  try {
    await trySecondary({ secondary, host, nowSeconds: Math.floor(Date.now() / 1_000), timeoutMs: ANSWER_TIMEOUT_MS });
    return ok('secondaries', key === undefined ? `${name} answers` : `${name} answers, under the key ${key.name}`);
  } catch (error) {
    const fix = `Look at the server at ${name}: whether it runs and lets this machine ask by UDP${key === undefined ? '' : `, has the key ${key.name} with the same secret, and the right time`}. Until then it serves changes late.`;
    return failed('secondaries', `${name}: ${messageOf(error)}`, fix);
  }
}
