/** Whether the file of registries, TLDs and prices can be used, and the registries and the service of notices take our login. */
import type { NoticeServiceSetup } from '../../domains/boot/setup/read-setup.ts';
import type { TldTerms } from '../../domains/prices/tlds.ts';
import type { Config } from '../../kernel/config/config.ts';
import { ConfigError } from '../../kernel/config/config.ts';
import { readEnvironment } from '../../kernel/config/read-environment.ts';
import { type Finding, failed, messageOf, ok, warning } from './finding.ts';

const FIX = 'Correct the file; docs/registrar.md has every member.';

export async function checkRegistries({ domains, outboundAllow }: Checked): Promise<Finding[]> {
  const { configFile } = domains;
  if (configFile === undefined) return [];
  // Loaded where there is something to check.
  const { readSetup } = await import('../../domains/boot/setup/read-setup.ts');
  try {
    const { noticeService, prices, registrar, registries } = await readSetup(configFile, readEnvironment());
    const logins = await Promise.all([
      ...registries.map(checkLogin),
      ...(noticeService === undefined ? [] : [checkNotices(noticeService, outboundAllow)]),
    ]);
    return [
      ok('registries', `${configFile}: ${registries.length} registries, ${prices.tlds.length} TLDs`),
      ...logins,
      ...judgeVerification(
        prices.tlds.map(({ terms }) => terms),
        registrar?.iana_id,
      ),
    ];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.map((problem) => failed('registries', problem, FIX));
  }
}

/** Whether names are registered at a real registry. A file that is wrong is told by `checkRegistries`. */
export async function isRegistryReal({ domains: { configFile, epp } }: Pick<Config, 'domains'>): Promise<boolean> {
  if (epp !== undefined || configFile === undefined) return epp !== undefined;
  const { readSetup } = await import('../../domains/boot/setup/read-setup.ts');
  try {
    return (await readSetup(configFile, readEnvironment())).registries.length > 0;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return false;
  }
}

type Checked = Pick<Config, 'domains' | 'outboundAllow'>;

async function checkNotices(service: NoticeServiceSetup, allow: readonly string[]): Promise<Finding> {
  const { tryNoticeService } = await import('../../domains/registry/notice-service/open-notice-service.ts');
  const { createOutbound } = await import('../../kernel/outbound/outbound.ts');
  const outbound = createOutbound({ allow });
  try {
    await tryNoticeService({ ...service, outbound });
    return ok('notices', `${service.url} takes the login of ${service.user}`);
  } catch (error) {
    const fix =
      'Look at url, user and password of claims_notices; the clearinghouse knows them. Until then names that a trademark claims are not sold.';
    return failed('notices', `${service.url}: ${messageOf(error)}`, fix);
  } finally {
    await outbound.close();
  }
}

/** ICANN has its accredited registrars verify registrants in generic TLDs; registries of countries have rules of their own. */
export function judgeVerification(
  tlds: readonly Pick<TldTerms, 'tld' | 'verifyRegistrantsFrom'>[],
  ianaId: number | undefined,
): Finding[] {
  const off = tlds.flatMap(({ tld, verifyRegistrantsFrom }) =>
    verifyRegistrantsFrom === undefined && !/(^|\.)[a-z]{2}$/.test(tld) ? [tld] : [],
  );
  if (off.length === 0) return [];
  const shown = `${off.slice(0, TLDS_SHOWN).join(', ')}${off.length > TLDS_SHOWN ? ` and ${off.length - TLDS_SHOWN} more` : ''}`;
  const text = `registrants’ e-mail addresses are not verified in ${shown}`;
  return ianaId === undefined
    ? [ok('registries', text)]
    : [warning('registries', text, 'ICANN’s accreditation asks for it: set verify_registrants_from of these TLDs.')];
}

const TLDS_SHOWN = 10;

type Options = Parameters<typeof import('../../domains/registry/epp/index.ts')['tryEppLogin']>[0] & {
  readonly id: string;
  readonly warnBelowCents?: number | undefined;
  readonly commandRate?: { readonly commands: number; readonly perMs: number } | undefined;
};

async function checkLogin(options: Options): Promise<Finding> {
  const { tryEppLogin } = await import('../../domains/registry/epp/index.ts');
  try {
    const balance = await tryEppLogin(options);
    const { commandRate: rate, id, warnBelowCents = 0 } = options;
    const takes = `${id} takes the login${rate === undefined ? '' : `, and ${rate.commands} commands a ${rate.perMs === 1_000 ? 'second' : 'minute'}`}`;
    if (balance === undefined) return ok('registries', takes);
    const { availableCents, currency } = balance;
    const left = `${(availableCents / 100).toFixed(2)}${currency === undefined ? '' : ` ${currency}`} left there`;
    return availableCents < warnBelowCents
      ? warning('registries', `${takes}; ${left}`, `Pay ${id} before it refuses orders.`)
      : ok('registries', `${takes}; ${left}`);
  } catch (error) {
    const fix = `Look at endpoint, client_id, password and certificates of ${options.id}.`;
    return failed('registries', `${options.id} is not logged in to: ${messageOf(error)}`, fix);
  }
}
