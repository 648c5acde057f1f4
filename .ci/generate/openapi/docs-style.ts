/** The style of the reference page, applied after that of Swagger UI: our type, spacing and colours, light and dark, and compact errors. */
export const docsStyle = `
:root {
  --ground: #f6f7f9; --card: #fff; --line: #e1e4ea; --text: #1b2130; --quiet: #5b6475; --accent: #4338ca; --chip: #eceef4; --chip-text: #33306e;
  --get: #1d6fb8; --post: #15803d; --put: #b45309; --patch: #7c3aed; --delete: #b91c1c;
  --sans: ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "DejaVu Sans", sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace;
}
html.dark-mode {
  --ground: #12151c; --card: #1a1f29; --line: #2c3341; --text: #e6e9ef; --quiet: #9aa4b5; --accent: #a5b4fc; --chip: #272e3b; --chip-text: #c7d2fe;
  --get: #60a5fa; --post: #4ade80; --put: #fbbf24; --patch: #c4b5fd; --delete: #f87171;
}
html, html.dark-mode, html.dark-mode .swagger-ui { background: var(--ground); }
body { margin: 0; color: var(--text); font: 15px/1.6 var(--sans); }

.masthead { position: sticky; top: 0; z-index: 10; display: flex; align-items: center; gap: 14px; padding: 12px max(24px, calc(50vw - 556px)); background: var(--card); border-bottom: 1px solid var(--line); }
.masthead a { color: var(--text); text-decoration: none; }
.masthead .product { display: flex; align-items: center; gap: 10px; font-weight: 650; font-size: 17px; letter-spacing: -.01em; }
.masthead .what { color: var(--quiet); }
.masthead nav { margin-left: auto; display: flex; align-items: center; gap: 14px; font-size: 14px; }
.masthead nav a { color: var(--accent); }
.masthead button { width: 32px; height: 32px; border: 1px solid var(--line); border-radius: 8px; background: none; color: var(--text); font-size: 16px; cursor: pointer; }

.swagger-ui, .swagger-ui .info .title, .swagger-ui .opblock-tag, .swagger-ui .btn, .swagger-ui label, .swagger-ui table thead tr th, .swagger-ui .opblock .opblock-summary-description,
.swagger-ui .opblock-description-wrapper p, .swagger-ui .response-col_status, .swagger-ui .parameter__name, .swagger-ui .opblock .opblock-section-header h4, .swagger-ui .markdown, .swagger-ui .renderedMarkdown,
.swagger-ui .tab li, .swagger-ui .examples__title, .swagger-ui .examples-select__section-label, .swagger-ui section.models h4, .swagger-ui .dialog-ux .modal-ux-header h3, .swagger-ui select, .swagger-ui input { font-family: var(--sans); color: var(--text); }
.swagger-ui .wrapper { max-width: 1160px; padding: 0 24px; }
.swagger-ui .markdown p, .swagger-ui .renderedMarkdown p, .swagger-ui .markdown li, .swagger-ui .info p, .swagger-ui .info li { font-size: 15px; line-height: 1.6; color: var(--text); }
.swagger-ui .markdown code, .swagger-ui .renderedMarkdown code, html.dark-mode .swagger-ui .renderedMarkdown code, html.dark-mode .swagger-ui .markdown code { padding: 1px 5px; border-radius: 5px; background: var(--chip); color: var(--chip-text); font: 500 .86em var(--mono); overflow-wrap: anywhere; }
.swagger-ui .info { margin: 36px 0 28px; }
.swagger-ui .info .title { font-size: 30px; font-weight: 680; letter-spacing: -.02em; }
.swagger-ui .info .title small, .swagger-ui .info .title small.version-stamp { top: -4px; padding: 3px 8px; border-radius: 999px; background: var(--chip); }
.swagger-ui .info .title small pre, html.dark-mode .swagger-ui .info .title small pre { color: var(--quiet); font: 600 12px var(--sans); }
.swagger-ui .info .link, .swagger-ui .info .base-url, .swagger-ui .info__license { display: none; }
.swagger-ui .info h3 { margin: 26px 0 6px; font: 650 16px var(--sans); color: var(--text); }
.swagger-ui .info .renderedMarkdown { max-width: 860px; }
.swagger-ui .info table { width: 100%; margin: 10px 0; border-collapse: collapse; background: var(--card); border: 1px solid var(--line); border-radius: 10px; overflow: hidden; }
.swagger-ui .info details { margin: 8px 0; }
.swagger-ui .info summary { cursor: pointer; color: var(--accent); font-size: 15px; }
.swagger-ui .info table tr th:first-of-type, .swagger-ui .info table tr td:first-of-type, .swagger-ui .info table th, .swagger-ui .info table td { padding: 5px 14px; vertical-align: baseline; white-space: normal; border-bottom: 1px solid var(--line); font-size: 14px; text-align: left; color: var(--text); }
.swagger-ui .info table tr:last-child td { border-bottom: 0; }

.swagger-ui .scheme-container, html.dark-mode .swagger-ui .scheme-container { margin: 0 0 8px; padding: 16px 0; background: none; box-shadow: none; border-top: 1px solid var(--line); }
.swagger-ui .scheme-container .schemes { align-items: center; }
.swagger-ui .scheme-container .servers, .swagger-ui .scheme-container .servers-title { display: none; }
.swagger-ui .btn { border-radius: 8px; box-shadow: none; font-weight: 600; }
.swagger-ui .btn.authorize, html.dark-mode .swagger-ui .btn.authorize { border-color: var(--accent); color: var(--accent); padding: 6px 14px; }
.swagger-ui .btn.authorize svg, html.dark-mode .swagger-ui .btn.authorize svg { fill: var(--accent); }
.swagger-ui .opblock-body .btn.execute, html.dark-mode .swagger-ui .opblock-body .btn.execute { background: #4338ca; border-color: #4338ca; color: #fff; }
.swagger-ui .filter .operation-filter-input { margin: 0 0 12px; padding: 9px 14px; border: 1px solid var(--line); border-radius: 8px; background: var(--card); color: var(--text); font: 15px var(--sans); }

.swagger-ui .opblock-tag { padding: 20px 0 10px; border-bottom: 1px solid var(--line); font-size: 20px; font-weight: 650; letter-spacing: -.01em; align-items: baseline; }
.swagger-ui .opblock-tag:hover { background: none; }
.swagger-ui .opblock-tag small { padding: 0 14px; }
.swagger-ui .opblock-tag small p { margin: 0; font-size: 14px; line-height: 1.5; color: var(--quiet); }
.swagger-ui .opblock-tag small p + p { margin-top: 6px; }
.swagger-ui .opblock-tag-section { margin-bottom: 14px; }
.swagger-ui .opblock:is(.opblock-get, .opblock-post, .opblock-put, .opblock-patch, .opblock-delete), html.dark-mode .swagger-ui .opblock:is(.opblock-get, .opblock-post, .opblock-put, .opblock-patch, .opblock-delete) { margin: 10px 0; border: 1px solid var(--line); border-radius: 10px; background: var(--card); box-shadow: none; overflow: hidden; }
.swagger-ui .opblock .opblock-summary, .swagger-ui .opblock.is-open .opblock-summary { padding: 7px 12px 7px 8px; border-color: var(--line); }
.swagger-ui .opblock .opblock-summary-method { min-width: 76px; padding: 5px 0; border-radius: 7px; background: none; text-shadow: none; font: 700 12.5px var(--sans); letter-spacing: .03em; }
.opblock-get { --verb: var(--get); } .opblock-post { --verb: var(--post); } .opblock-put { --verb: var(--put); } .opblock-patch { --verb: var(--patch); } .opblock-delete { --verb: var(--delete); }
.swagger-ui .opblock[class] .opblock-summary .opblock-summary-method, html.dark-mode .swagger-ui .opblock[class] .opblock-summary .opblock-summary-method { color: var(--verb); background: color-mix(in srgb, var(--verb) 13%, transparent); }
.swagger-ui .opblock .opblock-summary-path { max-width: none; font: 600 13.5px var(--mono); color: var(--text); }
.swagger-ui .opblock .opblock-summary-description { padding: 0 8px; font-size: 14px; color: var(--quiet); text-align: right; }
.swagger-ui .opblock .opblock-section-header, html.dark-mode .swagger-ui .opblock .opblock-section-header, html.dark-mode .swagger-ui .opblock:is(.opblock-get, .opblock-post, .opblock-put, .opblock-patch, .opblock-delete) .opblock-section-header { min-height: 42px; padding: 4px 20px; background: var(--ground); box-shadow: none; border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); }
.swagger-ui .opblock .opblock-section-header h4 { font-size: 14px; font-weight: 650; }
.swagger-ui .opblock-description-wrapper, .swagger-ui .opblock-body .execute-wrapper { padding: 14px 20px; }
.swagger-ui .opblock-description-wrapper p { margin: 0 0 8px; }
.swagger-ui table thead tr th, .swagger-ui table thead tr td { padding: 8px 0; border-color: var(--line); font-size: 12.5px; color: var(--quiet); }
.swagger-ui .parameter__name { font-size: 14px; font-weight: 600; }
.swagger-ui .parameter__type, .swagger-ui .parameter__in, .swagger-ui .prop-format { font-family: var(--mono); color: var(--quiet); }
.swagger-ui input[type=text], .swagger-ui input[type=password], .swagger-ui textarea, .swagger-ui select { border: 1px solid var(--line); border-radius: 8px; background-color: var(--card); color: var(--text); box-shadow: none; }
.swagger-ui textarea, .swagger-ui textarea.body-param__text { font: 13px/1.55 var(--mono); min-height: 150px; background: var(--ground); }
.swagger-ui .highlight-code > .microlight, .swagger-ui .microlight, .swagger-ui .opblock-body pre.microlight { border-radius: 8px; font: 12.5px/1.55 var(--mono); background: #1a1f2b !important; }
.swagger-ui .json-schema-2020-12, html.dark-mode .swagger-ui .json-schema-2020-12 { border-radius: 8px; background-color: var(--ground); }
.swagger-ui .responses-inner { padding: 12px 20px; }
.swagger-ui .response-col_links, .swagger-ui .responses-header .col_header.response-col_links { display: none; }
.swagger-ui .response-col_status { min-width: 62px; font-weight: 650; font-size: 14px; }
.swagger-ui .headers td, .swagger-ui .headers__title, html.dark-mode .swagger-ui .headers td { font: 13px var(--sans); color: var(--quiet); }
.swagger-ui .headers td p { font-size: 13px; font-weight: 400; color: var(--quiet); }
.swagger-ui .responses-table > tbody > tr.response > td { padding: 10px 0; border-top: 1px solid var(--line); vertical-align: top; }
/* The introduction describes the body and headers of errors once; each response names its reasons. */
.swagger-ui .responses-table:not(.live-responses-table) tr.response:is([data-code^="4"], [data-code^="5"]) :is(.response-controls, .model-example, .headers-wrapper, .headers-wrapper + *) { display: none; }
.swagger-ui .responses-table tr.response:is([data-code^="4"], [data-code^="5"]) p { margin: 0; font-size: 14px; color: var(--quiet); }
.swagger-ui .responses-table tr.response:is([data-code^="4"], [data-code^="5"]) code { font-size: 11.5px; }
.swagger-ui section.models, html.dark-mode .swagger-ui section.models { border: 1px solid var(--line); border-radius: 10px; background: var(--card); }
.swagger-ui .dialog-ux .modal-ux, html.dark-mode .swagger-ui .dialog-ux .modal-ux { border: 1px solid var(--line); border-radius: 12px; background: var(--card); }
@media (max-width: 760px) {
  .masthead .what, .swagger-ui .opblock .opblock-summary-description { display: none; }
  .swagger-ui .wrapper { padding: 0 12px; }
}
`;
