/** Answers of models, for whoever shows them. */

/** Everything that Markdown has, in sizes that do not fit a phone. */
export const RICH = `# Refunds

They take **five days**, see [the handbook](https://example.com/handbook).

### What we need

- [x] the number of the order
- [ ] [![a picture of it](https://example.com/a.png)](https://example.com/b)
1. One ![picture](https://example.com/c.png)

> Quoted, with \`code\`.

| Method | Days | ${'Wide '.repeat(12)}|
| --- | ---: | --- |
| Card | 5 | ${'x'.repeat(80)} |

\`\`\`sh
echo ${'long '.repeat(40)}
\`\`\`

${'Unbroken'.repeat(20)}

שלום, זה ייקח חמישה ימים.
`;

/** What would run, load, or look like a part of the page. */
export const HOSTILE = `Here it is: <img src="/x" onerror="ran=1"> ![drawn](http://elsewhere.invalid/pixel.png)
<script>ran=1</script><svg onload="ran=1"><animate onbegin="ran=1"></svg><iframe srcdoc="<script>parent.ran=1</script>"></iframe>
<a href="javascript:ran=1">one</a> [two](javascript:ran=1) [three](data:text/html,<script>ran=1</script>)
<style>@import "http://elsewhere.invalid/a.css"; #write { display: none }</style><link rel="stylesheet" href="http://elsewhere.invalid/b.css">
<div style="position:fixed;inset:0;background:url(http://elsewhere.invalid/c.png)" id="status" class="message">over it all</div>
<table background="http://elsewhere.invalid/d.png"><tr><td>cell</td></tr></table>
<form action="http://elsewhere.invalid/e"><input autofocus onfocus="ran=1" name="password"><button>Log in</button></form>
<details open ontoggle="ran=1"><summary>more</summary></details><dialog open>Your password?</dialog>
<video src="http://elsewhere.invalid/f" autoplay></video><object data="http://elsewhere.invalid/g"></object><embed src="/h">
<base href="http://elsewhere.invalid/"><meta http-equiv="refresh" content="0;url=http://elsewhere.invalid/i">
</script><script>ran=1</script><!-- <script> -->
<p role="alert" aria-label="alarm" tabindex="1" data-page="other" dir="rtl">plain</p>

The end.

<noscript><p title="</noscript><img src=x onerror=ran=1>"></noscript>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=ran=1&gt;"></table></math>`;
