"""What a run found, on one page: `contents` gathers it, `page` writes it as HTML and JSON, `junit` reads test results.

gathered = contents.gather(run=stored, comparison=compared, series=history(...), tests=junit.read(files))
page.write(folder, gathered)                    # folder/index.html, which needs no network, and folder/report.json
"""
