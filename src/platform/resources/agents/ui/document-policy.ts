/** `Content-Security-Policy` of a UI resource: the document is whoever's, and may be hostile. */
import type { UiCsp } from '../../../tables.ts';

/**
 * Its scripts run in an origin of their own, without cookies, storage, popups or a way to navigate whoever shows it; it reaches
 * the origins that `csp` names, and sends no form anywhere. Origins are checked where they come in.
 */
export function documentPolicy(csp: UiCsp | null): string {
  const { connectDomains = [], resourceDomains = [], frameDomains = [], baseUriDomains = [] } = csp ?? {};
  const directives: readonly (readonly [name: string, sources: readonly string[]])[] = [
    ['default-src', []],
    ['script-src', ["'unsafe-inline'", ...resourceDomains]],
    ['style-src', ["'unsafe-inline'", ...resourceDomains]],
    ['img-src', ['data:', 'blob:', ...resourceDomains]],
    ['font-src', ['data:', ...resourceDomains]],
    ['media-src', ['data:', 'blob:', ...resourceDomains]],
    ['connect-src', connectDomains],
    ['frame-src', frameDomains],
    ['base-uri', baseUriDomains],
    ['form-action', []],
  ];
  const rules = directives.map(([name, sources]) => `${name} ${sources.length === 0 ? "'none'" : sources.join(' ')}`);
  return ['sandbox allow-scripts allow-forms', ...rules].join('; ');
}
