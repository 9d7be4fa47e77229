import { ApiError } from '../../kernel/http/errors.ts';

/** Throws `invalid_timezone`, or `invalid_request` for a locale that is no BCP 47 tag. */
export function checkProfile(profile: { readonly locale?: string | null; readonly timezone?: string | null }): void {
  const { locale, timezone } = profile;
  if (typeof timezone === 'string' && !isTimeZone(timezone)) {
    throw new ApiError('invalid_timezone', {
      param: 'timezone',
      message: `"${timezone}" is no IANA time zone. Send a name such as \`Europe/Berlin\`, or \`UTC\`.`,
    });
  }
  if (typeof locale === 'string' && !isLocale(locale)) {
    throw new ApiError('invalid_request', {
      param: 'locale',
      message: `"${locale}" is no BCP 47 language tag. Send one such as \`en\` or \`pt-BR\`.`,
    });
  }
}

function isTimeZone(name: string): boolean {
  // The formatter takes fixed offsets such as +02:00 as well; they are no zones and know no daylight saving.
  if (!/^[A-Za-z]/.test(name)) return false;
  return succeeds(() => new Intl.DateTimeFormat('en', { timeZone: name }));
}

function isLocale(tag: string): boolean {
  return succeeds(() => Intl.getCanonicalLocales(tag));
}

function succeeds(parse: () => unknown): boolean {
  try {
    parse();
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
